"""Report types as frozen data, each from one YAML file in ``configs/reports/``.

Target, dataset, workloads, threads, rounds, seconds, warm-up and restore have no defaults; they
must be written down. Unknown keys, duplicate keys and values out of range are refused with the
field, what was found and what is allowed. Nested fields are in :mod:`benchlab.plan.fields`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import Field

from benchlab.bounded import read_text
from benchlab.errors import SpecError
from benchlab.language import REFERENCE, message
from benchlab.plan import open_loop, topology
from benchlab.plan.documents import (
    ConnectionName,
    Frozen,
    Name,
    Text,
    flat,
    from_yaml,
    validated,
)
from benchlab.plan.fields.budget import Budget
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.dataset import AnyDataset
from benchlab.plan.fields.engines import Components, EngineSpec, SideSpec
from benchlab.plan.fields.load_balancer import HAProxySettings, LoadBalancer, Ports
from benchlab.plan.fields.publish import FILES, Destination
from benchlab.plan.fields.published import Layout, Published
from benchlab.plan.fields.schedule import Schedule

Side = Literal["baseline", "candidate"]
SIDES: tuple[Side, Side] = ("baseline", "candidate")
RestorePolicy = Literal["every_trial", "after_writes", "per_workload", "never"]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}([_-][A-Za-z0-9]{1,8})*$")]
ThreadCounts = Annotated[
    tuple[Annotated[int, Field(ge=1, le=10_000)], ...], Field(min_length=1, strict=False)
]

Rate = Annotated[int | str, pydantic.BeforeValidator(open_loop.valid)]

MAX_DEPLOYMENTS = 20
# A verdict rests on so many confirming rounds at least.
LEAST_CONFIRMING = 3
# Fewer deployments show too little of how they differ to end on.
FIRST_LOOK = 3
MAX_TRIALS = 100_000
MAX_REPEATS = 2
# Marks the fields that say what is measured and how. Everything else names, publishes, pays for,
# orders or judges a campaign, or is about a side.
HOW = "how"


class ReportSpec(Frozen):
    """One report type.

    Attributes:
        report: its name, which is also the name of its file and of its DAG.
        engine: the engine to deploy, a key of ``engines``; ``auto`` takes the first one that is
            available on the machine.
        topology: the hosts of a fleet, by the name of a file in ``configs/topologies/``; None
            where the target has none.
        sides: ``different``; ``same`` for an A/A campaign, in which the candidate is the baseline
            again, deployed and loaded separately; ``single`` where one version is measured.
        restore: when the snapshot is restored: before ``every_trial``; ``after_writes``, before
            trials whose data may have changed; ``per_workload``, once a block; or ``never``.
        placement: ``interleaved``, the sides in turn, or ``sequential``, all of the baseline and
            then all of the candidate.
        interleave: what the sides take turns by: whole ``blocks``, or ``trials``, thread count by
            thread count, which starts a server more often.
        snapshots: where dataset snapshots are kept, ``s3://bucket/prefix``; None: the dataset is
            always loaded.
        published: the published document whose plan this is; None where there is none.
        threads: numbers of client threads. Reports list them, and ``workloads``, in this order;
            interleaved campaigns measure them in a random order.
        rate: adds every workload at equal load (:mod:`benchlab.plan.open_loop`): transactions a
            second, or a share of the slower side's highest throughput, such as ``60 %``.
        threads_by_workload: in place of ``threads`` for some workloads; see :meth:`threads_of`.
        deployments: how often each side is deployed and loaded anew; the rounds are spread over
            them as evenly as possible.
        design: ``fixed``: all rounds are measured. ``watch``: all workloads are measured in the
            first ``screening_rounds``, of which each has a deployment of its own; what has become
            slower or faster than in the campaigns before is measured in the other rounds, too, and
            these alone decide (:mod:`benchlab.analysis.trend.watch`). ``release``: from the third
            deployment on, workloads that are decided are not measured again
            (:mod:`benchlab.analysis.verdict.looks`).
        seconds: measured time of a trial.
        warmup_seconds: length of a warm-up; see :attr:`benchlab.plan.order.PlannedTrial.warm_up`.
        threshold_pct: the smallest change that is called a regression or an improvement.
        repeat_limit: how often a pair of blocks with an invalid trial is measured again.
        diagnose: whether a few more trials look closer at the servers once the verdict is known:
            ``on_change``, where a workload changed, ``always`` or ``never``. They decide nothing
            (:mod:`benchlab.campaign.diagnosing`).
        slowdown_pct: the percentage of the time for which the candidate's server is stopped on
            purpose while it is measured, to see whether Benchlab detects it; 0: never.
        seed: decides the order of the trials; None: derived from the campaign's id.
        leaders: where TiKV's region leaders are, in clusters that Benchlab deploys: ``level``,
            moved before each trial until all servers lead equally many; ``as_placed`` by PD.
        load_balancer: ``haproxy``; its settings, where they are not Benchlab's own; or ``none``,
            where the client connects to the only server of a side. See :attr:`haproxy`.
        connections: the Connection to the server of each side, where the target deploys none.
        offered_connections: further Connections that the trigger form offers in their place.
        layout: the tables of results: Benchlab's ``own``, or first those of the ``published``
            document and then Benchlab's.
        languages: of the report, by code; its main page is in the first one.
        publish: where the report is published; see :attr:`destinations`.
        schedule: when it is run by the calendar; None: only when a person starts it.
        machine: where Airflow has workers on several machines, the name of the one whose worker
            runs the client; no effect elsewhere.
    """

    report: Name
    title: Annotated[Text, Field(min_length=1, max_length=200)]
    target: Annotated[Name, HOW]
    topology: Annotated[Name | None, HOW] = None
    engine: Name
    engines: Annotated[dict[Name, EngineSpec], Field(min_length=1)]
    sides: Literal["different", "same", "single"] = "different"
    dataset: Annotated[AnyDataset, HOW]
    workloads: Annotated[tuple[Name, ...], Field(min_length=1, strict=False), HOW]
    rate: Annotated[Rate | None, HOW] = None
    threads: Annotated[ThreadCounts, HOW]
    threads_by_workload: Annotated[dict[Name, ThreadCounts], HOW] = Field(default={})
    rounds: Annotated[int, Field(ge=1, le=1000), HOW]
    deployments: Annotated[int, Field(ge=1, le=MAX_DEPLOYMENTS), HOW] = 1
    design: Annotated[Literal["fixed", "watch", "release"], HOW] = "fixed"
    screening_rounds: Annotated[int, Field(ge=1, le=MAX_DEPLOYMENTS), HOW] = 2
    seconds: Annotated[int, Field(ge=1, le=86_400), HOW]
    warmup_seconds: Annotated[int, Field(ge=0, le=3600), HOW]
    restore: Annotated[RestorePolicy, HOW]
    placement: Annotated[Literal["interleaved", "sequential"], HOW] = "interleaved"
    interleave: Annotated[Literal["blocks", "trials"], HOW] = "blocks"
    client: Annotated[Client, HOW] = Client()
    budget: Budget | None = None
    snapshots: Annotated[str, Field(pattern=r"^s3://[a-z0-9.-]+(/[A-Za-z0-9._/-]+)?$")] | None = (
        None
    )
    published: Published | None = None
    threshold_pct: Annotated[float, Field(gt=0, le=50, strict=False)] = 2.0
    repeat_limit: Annotated[int, Field(ge=0, le=MAX_REPEATS)] = 2
    diagnose: Literal["on_change", "always", "never"] = "on_change"
    slowdown_pct: Annotated[float, Field(ge=0, le=90, strict=False), HOW] = 0.0
    seed: Annotated[int, Field(ge=0)] | None = None
    leaders: Annotated[Literal["level", "as_placed"], HOW] = "level"
    load_balancer: Annotated[LoadBalancer, HOW] = "haproxy"
    connections: Annotated[dict[Side, ConnectionName], HOW] = Field(default={})
    offered_connections: Annotated[tuple[ConnectionName, ...], Field(strict=False)] = ()
    ports: Ports = Ports()
    layout: Layout = "own"
    languages: Annotated[tuple[Language, ...], Field(min_length=1, strict=False)] = (REFERENCE,)
    publish: Annotated[tuple[Destination, ...], Field(strict=False)] = ()
    schedule: Schedule | None = None
    machine: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")] | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _with_rate(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and isinstance(raw.get("workloads"), list | tuple):
            return raw | {"workloads": open_loop.added(raw["workloads"], raw.get("rate"))}
        return raw

    @pydantic.field_serializer("workloads")
    def _without_rate(self, workloads: tuple[str, ...]) -> tuple[str, ...]:
        return self.as_written

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> Self:
        own = {f"threads_by_workload.{n}": counts for n, counts in self.threads_by_workload.items()}
        once = {"workloads": self.workloads, "threads": self.threads, **own}
        for field, values in once.items():
            if len(set(values)) != len(values):
                twice = message("fault-twice", field=field, values=str(list(values)))
                raise ValueError(twice)
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages: {list(self.languages)} has an entry twice")
        if self.engine != "auto" and self.engine not in self.engines:
            raise ValueError(
                f"engine: {self.engine} has no entry under `engines`; known: "
                f"{', '.join(self.engines)}"
            )
        for name, engine in self.engines.items():
            if (engine.candidate is None) != (self.sides == "single"):
                raise ValueError(
                    f"engines.{name}.candidate: must be set, unless `sides: single` says that one "
                    "version is measured; then it must not"
                )
            # Two servers that exist may differ in what nobody writes down here.
            alike = engine.baseline == engine.candidate and not self.connections
            if self.sides == "different" and alike:
                alone = message("fault-one-version", engine=name, version=engine.baseline.version)
                raise ValueError(alone)
        if self.slowdown_pct and self.sides == "single":
            raise ValueError(
                f"slowdown_pct: {self.slowdown_pct:g}: only a candidate can be slowed down, and "
                "`sides: single` has none; write `sides: same`, or leave it out"
            )
        if self.trial_count > MAX_TRIALS:
            many = {"trials": str(self.trial_count), "most": str(MAX_TRIALS)}
            raise ValueError(message("fault-trials", **many))
        return self

    @pydantic.model_validator(mode="after")
    def _connects(self) -> Self:
        most = max(self.thread_counts)
        if self.haproxy and self.haproxy.maxconn is not None and self.haproxy.maxconn < most:
            raise ValueError(
                f"load_balancer.maxconn: {self.haproxy.maxconn} is less than {most} threads, so "
                f"some would wait for a connection forever; write at least {most}, or leave it "
                "out"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _takes_turns(self) -> Self:
        if self.deployments > self.rounds:
            asked = {"deployments": str(self.deployments), "rounds": str(self.rounds)}
            raise ValueError(message("fault-rounds", **asked))
        if self.placement == "interleaved" and self.sides != "single":
            return self
        if self.sides != "single" and isinstance(self.rate, str):
            raise ValueError(
                f"rate: {self.rate}: with `placement: sequential` the candidate's throughput is "
                "not known while the baseline is measured; write a number of transactions a second"
            )
        if self.deployments > 1:
            raise ValueError(message("fault-pairs", deployments=str(self.deployments)))
        if self.interleave == "trials":
            raise ValueError(
                "interleave: trials: the sides take turns, which needs `placement: interleaved` "
                "and two sides; write `blocks`, or leave it out"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _stops_early(self) -> Self:
        if self.design == "fixed":
            return self
        if self.sides != "different" or self.placement != "interleaved":
            raise ValueError(message("fault-design-sides", design=self.design))
        if self.restore == "after_writes":
            raise ValueError(message("fault-design-restore", design=self.design))
        return self._looks() if self.design == "release" else self._screens()

    def _looks(self) -> Self:
        if self.deployments <= FIRST_LOOK:
            counts = {"deployments": str(self.deployments), "least": str(FIRST_LOOK + 1)}
            raise ValueError(message("fault-release-deployments", **counts))
        if self.rounds % self.deployments:
            asked = {"deployments": str(self.deployments), "rounds": str(self.rounds)}
            raise ValueError(message("fault-release-rounds", **asked))
        return self

    def _screens(self) -> Self:
        if self.deployments != self.rounds:
            asked = {"deployments": str(self.deployments), "rounds": str(self.rounds)}
            raise ValueError(message("fault-watch-deployments", **asked))
        if every := getattr(self.schedule, "release_every", 0):
            raise ValueError(message("fault-watch-release", every=str(every)))
        if self.rounds < self.screening_rounds + LEAST_CONFIRMING:
            counts = {"rounds": str(self.rounds), "screening": str(self.screening_rounds)}
            raise ValueError(message("fault-watch-rounds", **counts, least=str(LEAST_CONFIRMING)))
        return self

    @property
    def looks(self) -> tuple[int, ...]:
        """With ``design: release``, after which deployments it is decided what is left."""
        if self.design != "release":
            return ()
        return tuple(range(FIRST_LOOK, self.deployments + 1))

    @property
    def stages(self) -> tuple[range, ...]:
        """The rounds of each stage: all of them, or those that screen and those that confirm."""
        first = 1 + (self.screening_rounds if self.design == "watch" else self.rounds)
        both = range(1, first), range(first, self.rounds + 1)
        return tuple(stage for stage in both if stage)

    @property
    def balanced(self) -> tuple[range, ...]:
        """The rounds over each of which the order of the sides is balanced.

        With ``design: release`` two deployments each, because any of them may be the last.
        """
        if self.design != "release":
            return self.stages
        size = 2 * self.rounds // self.deployments
        firsts = range(1, self.rounds + 1, size)
        return tuple(range(first, min(first + size, self.rounds + 1)) for first in firsts)

    @property
    def as_written(self) -> tuple[str, ...]:
        """The workloads without those that ``rate`` adds."""
        rated = open_loop.rate_of
        return tuple(one for one in self.workloads if self.rate is None or rated(one) is None)

    @property
    def trial_count(self) -> int:
        """The number of trials in a campaign: every cell on each side in every round."""
        cells = sum(len(self.threads_of(workload)) for workload in self.workloads)
        return cells * self.rounds * len(self.measured_sides)

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """Every thread count that any workload is measured with, each once.

        In the order of ``threads``, or ascending where a workload has its own.
        """
        of_all = {count for workload in self.workloads for count in self.threads_of(workload)}
        return self.threads if of_all == {*self.threads} else tuple(sorted(of_all))

    def threads_of(self, workload: str) -> tuple[int, ...]:
        """The thread counts of a workload: its own, or else the common ones.

        At a rate it is the highest: how many are busy depends on the servers.
        """
        own = self.threads_by_workload.get(open_loop.saturated(workload), self.threads)
        return own if open_loop.rate_of(workload) is None else (max(own),)

    def items_of(self, engine: str, workload: str | None) -> Components:
        """The configuration items of one workload alone; empty where ``workload`` is None."""
        of_workload = self.engines[engine].by_workload
        return of_workload.get(open_loop.saturated(workload), {}) if workload else {}

    def measured_otherwise(self, other: ReportSpec, engine: str) -> list[str]:
        """How another report type differs in what is measured and how, with ``engine`` deployed.

        Example:
            ``found.measured_otherwise(asked, "tidb")`` is ``["warmup_seconds 1, not 60"]``.
        """
        fields = ReportSpec.model_fields.keys() - {*TAKEN_OVER, "engine"}
        return self._otherwise(other, {**dict.fromkeys(fields, True), "engines": {engine}})

    def judged_otherwise(self, other: ReportSpec) -> list[str]:
        """How another report type differs in the fields :data:`TAKEN_OVER`."""
        return self._otherwise(other, dict.fromkeys(TAKEN_OVER, True))

    def _otherwise(self, other: ReportSpec, fields: dict[str, Any]) -> list[str]:
        ours, others = (flat(one.model_dump(mode="json", include=fields)) for one in (self, other))
        return [
            f"{name} {_shown(ours.get(name))}, not {_shown(others.get(name))}"
            for name in dict.fromkeys((*ours, *others))
            if ours.get(name) != others.get(name)
        ]

    def all_items_of(self, workload: str | None) -> list[Components]:
        """The configuration items of one workload alone, for each engine that may be deployed."""
        return [self.items_of(engine, workload) for engine in self.deployable_engines]

    @property
    def choosable_connections(self) -> tuple[str, ...]:
        """The Connections to servers that may be measured: its own, then the offered ones."""
        return (*self.connections.values(), *self.offered_connections)

    @property
    def haproxy(self) -> HAProxySettings | None:
        """HAProxy's settings; None where there is no load balancer."""
        if isinstance(self.load_balancer, HAProxySettings):
            return self.load_balancer
        return HAProxySettings() if self.load_balancer == "haproxy" else None

    @property
    def balancer(self) -> str:
        """What stands between the client and the servers: ``haproxy`` or ``none``."""
        return "none" if self.haproxy is None else "haproxy"

    @property
    def measured_sides(self) -> tuple[Side, ...]:
        """Both sides, or the baseline where one version is measured."""
        return SIDES[:1] if self.sides == "single" else SIDES

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Where the report is published.

        Files come first, named or not, so that the report exists even if the others fail.
        """
        others = (place for place in self.publish if place.to != FILES)
        return (Destination(to=FILES), *others)

    @property
    def deployable_engines(self) -> tuple[str, ...]:
        """The engines that a campaign may deploy: with ``engine: auto`` all, else the named one."""
        return tuple(self.engines) if self.engine == "auto" else (self.engine,)

    @property
    def is_resolved(self) -> bool:
        """Whether every side that may be deployed has a version, not a version rule."""
        return all(
            side.is_resolved
            for name in self.deployable_engines
            for side in (self.engines[name].baseline, self.engines[name].candidate)
            if side is not None
        )

    def side(
        self, engine: str, side: Side, *, by_version: bool = True, version: str | None = None
    ) -> SideSpec:
        """The effective side with ``engine`` deployed: common parameters are merged in.

        Args:
            by_version: whether to merge in the parameters for its range of versions.
            version: taken in place of the side's own.
        """
        spec = self.engines[engine]
        chosen: SideSpec = getattr(spec, side) if self.sides == "different" else spec.baseline
        if version is not None:
            chosen = chosen.model_copy(update={"version": version, "builds": {}})
        return spec.merged_into(chosen, by_version=by_version)

    def with_overrides(self, overrides: Mapping[str, Any]) -> ReportSpec:
        """A copy with some fields changed, validated again as a whole.

        Example:
            ``spec.with_overrides({"rounds": 2, "dataset.tables": 4}).rounds`` is 2.

        Keys are field names, dotted where nested. ``report`` cannot be changed. ``deployments`` is
        lowered to what the changed fields allow, unless it is overridden too: 6 rounds in 6
        deployments, overridden to 2 rounds, become 2 deployments. New ``threads`` hold for every
        workload, unless ``threads_by_workload`` is overridden too.

        Raises:
            SpecError: an unknown key or a bad value.
        """
        raw = self.model_dump(mode="json")
        for key, value in overrides.items():
            if key == "report":
                raise SpecError("report: the name of a report type cannot be overridden")
            _set_dotted(raw, key, value)
        if raw["threads"] != [*self.threads] and not _names(overrides, "threads_by_workload"):
            raw["threads_by_workload"] = {}
        if "deployments" not in overrides:
            raw["deployments"] = _possible_deployments(raw)
        return validated(ReportSpec, raw, where="")


MEASURED = tuple(name for name, field in ReportSpec.model_fields.items() if HOW in field.metadata)
"""The fields in which two report types have to agree for their campaigns to be measured alike."""
_WHAT = ("report", "engine", "engines", "sides", "snapshots", "seed")
TAKEN_OVER = tuple(name for name in ReportSpec.model_fields if name not in (*MEASURED, *_WHAT))
"""The fields that do not affect what is measured: a resumed campaign takes their current values."""


def _shown(value: Any) -> str:
    return "unset" if value is None else str(value)


def _names(overrides: Mapping[str, Any], field: str) -> bool:
    return any(key.partition(".")[0] == field for key in overrides)


def _possible_deployments(raw: Mapping[str, Any]) -> Any:
    if raw["placement"] != "interleaved" or raw["sides"] == "single":
        return 1
    fewer = raw["rounds"] in range(1, raw["deployments"])
    return raw["rounds"] if fewer else raw["deployments"]


def _set_dotted(raw: dict[str, Any], key: str, value: object) -> None:
    *parents, last = key.split(".")
    node: Any = raw
    for parent in parents:
        node = node.get(parent) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        raise SpecError(f"{key}: no such field in a report type")
    node[last] = value


def load(path: Path) -> ReportSpec:
    """Read one report type: ``load(Path("sysbench_local.yaml")).rounds``.

    Raises:
        SpecError: the file cannot be read, is not YAML, does not validate, or has another name than
            its report type; all faults of validation are named at once.
    """
    return _read(path, read_text(path))


# Cached, as a DAG file reads each published plan for every report type; by text, so that a change
# of the file is seen.
@functools.lru_cache(maxsize=256)
def _read(path: Path, text: str) -> ReportSpec:
    spec = loads(text, where=str(path))
    if spec.report != path.stem and spec.published is None:
        raise SpecError(f"{path}: report: {spec.report!r} must be the file's name, {path.stem!r}")
    return spec


def loads(text: str, where: str = "report type") -> ReportSpec:
    """Read one report type from YAML text; ``where`` begins each error. Raises SpecError."""
    raw = from_yaml(text, where)
    if what := topology.called(raw):
        raise SpecError(
            f"{where}: is a {what}, not a report type; a report type names its topology in "
            "`topology`"
        )
    if not isinstance(raw, dict) or ReportSpec.model_fields.keys().isdisjoint(raw):
        raise SpecError(
            f"{where}: is no report type: it has none of the fields of one, such as `report`, "
            "`target` and `workloads`"
        )
    return validated(ReportSpec, raw, where)
