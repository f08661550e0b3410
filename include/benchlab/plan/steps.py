"""The steps of a campaign, and estimates of how long each takes.

Everything here is estimated before anything has started. Where enough campaigns have run on the
same topology, a step takes as long as it did there (:mod:`benchlab.plan.rates`); elsewhere
constants are used. Those of one machine were measured on 2 cores with MariaDB. Those of a fleet are
round numbers for clusters as large as the published ones, each with its reason, chosen so that a
campaign ends early rather than late. The time left in a running campaign comes from its own pace.

Example:
    ``sum(step.minutes for step in plan_steps(spec, trials, topology))`` is the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Annotated, Literal, get_args

from pydantic import PlainSerializer, PlainValidator

from benchlab.language import Message, Said, message
from benchlab.plan.fields.engines import Components, SideSpec
from benchlab.plan.fields.published import Published
from benchlab.plan.order import PlannedTrial, deployment_of
from benchlab.plan.quantities import size_bytes
from benchlab.plan.rates import Learned, Size, TimedStep
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.topology import CloudTopology, Ec2Topology, HostsTopology, Topology

GIB = 2**30

# One machine, seconds; measured on 2 cores with MariaDB.
PREPARE_S = 9.0
RESTORE_S = 0.6
RESTART_S = 1.4
LOCAL_TRIAL_S = 0.5
CAMPAIGN_S = 18.0

# One machine, bytes: system tables, redo and undo logs of an empty server.
EMPTY_SERVER_BYTES = 160 * 2**20

PROVISION_S = 360.0
"""RunInstances, boot, user data (packages, one XFS over the NVMe disks), first login."""
BUILD_S = 120.0
"""Building sysbench; 286 s were seen on two cores that a dozen other processes shared."""
CHECK_HOSTS_S = 60.0
"""Owned hosts: logging in and checking programs; nothing is rented or installed."""
CLOUD_PROVISION_S = 1500.0
"""TiDB Cloud's CREATING to ACTIVE; its documentation says 20 to 30 minutes."""
DEPLOY_S = 90.0
"""`tiup cluster deploy` and the first start: 30 to 49 s were seen on two and four hosts with the
packages at hand; the rest is for downloads and for more hosts."""
LOAD_BESIDE = 1.25
"""Factor by which a load takes longer while the other side loads too: 16 threads that wait for
answers leave most of a storage host idle, but disks and background threads are shared."""
SEED_BYTES_PER_S = 150e6
"""Reading a dataset snapshot from object storage, on each storage host, all at once."""
SAVE_BYTES_PER_S = 50e6
"""Writing one, each region by one host; TiDB's documentation says 50 to 100 MB/s for each host."""
BR_S = 40.0
"""What BR does besides copying: tables and regions, and a checksum of each table; 18 to 34 s were
seen with small tables, on two cores."""
ANALYZE_ROWS_PER_S = 400_000
"""`ANALYZE TABLE` of one table, read once."""
ANALYZED_AT_ONCE = 4
"""Tables analyzed and checked at once, each at full speed: one table keeps only a few of a storage
host's threads busy."""
CHECKSUM_ROWS_PER_S = 3_000_000
"""`ADMIN CHECKSUM TABLE`, after the load and after a side's first restore: the storage reads each
row and index entry once and sends a number."""
STOP_S = 35.0
"""`tiup cluster stop`: TiDB, then TiKV, then PD. 21 to 35 s were seen with one and three TiKVs of
v9.0.0-beta.2, which hands its leaders over for up to 20 s."""
IDLE_S = 60.0
"""For how long it is watched what idle servers of a cluster count; see :func:`idle_watch_s`."""
REFLINK_S = 5.0
"""Copying or restoring by shared blocks (XFS), all storage hosts at once, and dropping caches."""
COPY_BYTES_PER_S = 500e6
"""The same where blocks cannot be shared, on each host's disk, all hosts at once."""
START_S = 20.0
"""`tiup cluster start`: PD, then TiKV, then TiDB, until each answers."""
CONFIGURE_S = 20.0
"""`tiup cluster edit-config` and `reload --skip-restart` of a stopped cluster: every server's files
are written anew and checked, five servers at a time."""
BALANCE_S = 20.0
"""After a start, until all stores are Up and leaders are spread evenly."""
SETTLED_S = 10.0
"""Before every trial with `leaders: as_placed`: how long leaders have to stay where they are."""
LEVEL_S = 3.0
"""After a start, moving the leaders to where they belong with `leaders: level`."""
TRIAL_S = 3.0
"""In every trial besides its run: load balancer, checks before and after, fetching results."""
PUBLISH_S = 120.0
"""Comparison, report, upload."""
RELEASE_S = 120.0
"""Terminating the hosts, and waiting until groups and keys can be removed."""
DIAGNOSIS_SHARE = 0.25
"""Of a plan's time, what diagnosis trials take at most beside it."""
SKIPPED_TASK_S = 2.0
"""Airflow's task of a trial that is no longer measured; 0.4 to 1.6 s were seen."""

REPLICAS = 3
"""Copies of each region in TiKV, PD's default; with fewer hosts, one on each."""
EMPTY_STORE_BYTES = 2**29
"""A TiKV without data: 256 MiB of raft log and 13 MB were seen after the first start; and a PD."""
PROGRAM_BYTES = 2**30
"""One side's programs and logs on a host: TiKV's is the largest, with 0.3 to 0.6 GB by version."""
RESERVE, RESERVE_BYTES, RESERVE_SHARE, PLACEHOLDER = "storage.reserve-space", 5 * 2**30, 0.05, 0.2
"""TiKV refuses writes when less space is free than this item says, 5 GiB by default, or than 5 % of
the disk, if that is more. A fifth of the reserve is a placeholder file that every TiKV makes when
it starts, and leaves behind. With 0 there is neither (TiDB's documentation of the item; `init_fs`
and `init_storage_stats_task` in TiKV's components/server/src; before v6.6 the file is as large as
the reserve). `reserve-raft-space` is for a raft log on its own disk, which no topology has."""

PAGE_COPY_BYTES_PER_S = 1e9
"""`cp` of a data directory on one host's NVMe disk, by hand, one host after another."""


Preparation = Literal["deploy", "load", "analyze", "check", "back up"]
"""The stages of one side before the first trial; taken together they are ``prepare``."""
_Before = Literal["plan", "approve", "register", "provision", "prepare"]
_After = Literal["measure", "trial", "diagnose", "validate", "publish", "verdict", "notify"]
Stage = Preparation | _Before | _After | Literal["give back"]
"""The stages of a campaign, in its plan, its progress and its tasks; ``trial`` is a part of
``measure``.
"""
DatasetState = Literal["kept", "missing", "unknown"]
"""Whether the datasets of all sides are on S3; ``unknown``: S3 could not be asked."""


Written = Annotated[Said, PlainValidator(str), PlainSerializer(str, return_type=str)]
"""A sentence that is stored in English."""


@dataclass(frozen=True)
class PlanStep:
    """One step of a campaign.

    Attributes:
        stage: the stage to which it belongs.
        side: None where it concerns no single side.
        what: a description for people.
        minutes: estimated time.
        confirms: whether it is taken only if something is measured again, and for all workloads.
    """

    stage: Stage
    side: Side | None
    what: Written = field(compare=False)
    minutes: float
    confirms: bool = False


@dataclass(frozen=True)
class Basis:
    """What an estimate rests on, besides report type and topology.

    Attributes:
        dataset: whether it is on S3; None where the report type keeps none there.
        learned: times from earlier campaigns on the same topology, by step.
        notes: why something is not known.
    """

    dataset: DatasetState | None = None
    learned: Mapping[str, Learned] = field(default_factory=dict)
    notes: tuple[Message, ...] = ()

    def seconds(self, step: TimedStep, assumed: float) -> float:
        """How long a step takes: as learned, or else as assumed."""
        return self.learned[step].seconds if step in self.learned else assumed

    def with_notes(self, notes: Sequence[Message]) -> Basis:
        """A copy with further notes."""
        return replace(self, notes=(*self.notes, *notes))


NOTHING_KNOWN = Basis()


def plan_steps(
    spec: ReportSpec,
    trials: Sequence[PlannedTrial],
    topology: Topology | None,
    basis: Basis = NOTHING_KNOWN,
    first_prepared: Sequence[Side] = (),
) -> tuple[PlanStep, ...]:
    """The steps of a campaign in order; minutes of those that do not confirm are the estimate.

    Repeats are not included: :func:`repeat_minutes`.

    Args:
        first_prepared: from :func:`benchlab.plan.order.first_prepared`; empty: the baseline.
    """
    screening, *confirming = spec.stages
    deployments = list(_deployments(spec, trials, basis, first_prepared))
    steps = [*_steps(spec, deployments, topology, basis)]
    if not confirming:
        return tuple(PlanStep(*of[:3], of[3] / 60) for of in steps)
    passing = [*_steps(spec, deployments[: len(screening)], topology, basis)]
    last = max(place for place, (stage, *_) in enumerate(steps, 1) if stage == "measure")
    first = last - (len(steps) - len(passing))
    return tuple(
        PlanStep(*of[:3], of[3] / 60, confirms=first < place <= last)
        for place, of in enumerate(steps, 1)
    )


def _steps(
    spec: ReportSpec, deployments: Sequence[_Deployment], topology: Topology | None, basis: Basis
) -> Iterator[_Timed]:
    if topology is None:
        return _local(spec, deployments, basis)
    return _fleet(spec, deployments, topology, basis)


def sizes(spec: ReportSpec, topology: Topology | None) -> dict[str, Size]:
    """How large each step of a campaign is, on each side: rows, bytes or hosts."""
    rows, copied = Size(spec.dataset.rows, "rows"), Size(data_bytes(spec, topology), "bytes")
    hosts = Size(_host_count(topology), "hosts")
    of_data = dict.fromkeys(("load", "analyze", "check"), rows)
    of_data |= dict.fromkeys(("restore dataset", "back up", "restore"), copied)
    return {step: of_data.get(step, hosts) for step in get_args(TimedStep)}


def trial_minutes(spec: ReportSpec, trial: PlannedTrial) -> float:
    """Minutes of a trial on rented hosts, counting a restore even if it needs none."""
    before = STOP_S + REFLINK_S + START_S + BALANCE_S + (CONFIGURE_S if trial.configure else 0)
    before += LEVEL_S if spec.leaders == "level" else SETTLED_S
    return (before + TRIAL_S + spec.warmup_seconds + trial.seconds) / 60


def minutes_after_trials(steps: Sequence[PlanStep]) -> float:
    """Minutes from the end of the last trial until the hosts are given back."""
    measuring = [n for n, step in enumerate(steps) if step.stage == "measure"]
    return sum(step.minutes for step in steps[max(measuring, default=-1) + 1 :])


def diagnosis_minutes(minutes: float) -> float:
    """The most minutes that diagnosis trials take in addition to those of a plan."""
    return DIAGNOSIS_SHARE * minutes


def preparing_minutes(steps: Sequence[PlanStep], deployment: int) -> float:
    """Minutes to prepare both sides in a deployment, from 1, on hosts that exist already."""
    return sum(step.minutes for step in _preparing(steps, deployment))


def _prepares(step: PlanStep) -> bool:
    return step.stage in (*get_args(Preparation), "prepare")


def _preparing(steps: Sequence[PlanStep], deployment: int) -> list[PlanStep]:
    """The steps before the trials of a deployment; none in a plan without steps."""
    parts = groupby(steps, key=_prepares)
    found = [[*of] for prepares, of in parts if prepares]
    return found[deployment - 1] if deployment <= len(found) else []


def deployment_minutes(steps: Sequence[PlanStep], deployment: int) -> float:
    """Minutes of one deployment, from 1: to prepare both sides, and its trials."""
    number, minutes, prepares = 0, 0.0, False
    for step in steps:
        number += _prepares(step) and not prepares
        prepares = _prepares(step)
        if number == deployment and (prepares or step.stage == "measure"):
            minutes += step.minutes
    return minutes


def minutes_with_end(
    steps: Sequence[PlanStep], phase: str, side: Side, deployment: int = 1
) -> float:
    """Minutes of a stage for one side, plus publishing and giving back.

    A step that concerns all sides counts for each.

    Example:
        ``minutes_with_end(plan.steps, "load", "baseline")``

    Args:
        phase: a :data:`Preparation`, or ``check after load`` or ``check after last trial``, both
            of which are the plan's stage ``check``.
        deployment: the one that is prepared, from 1.
    """
    stage = "check" if phase.startswith("check") else phase
    last = phase.endswith("last trial")
    of = steps if last else _preparing(steps, deployment)
    of_stage = [step for step in of if step.stage == stage and step.side in (side, None)]
    of_stage = of_stage[-1:] if last else of_stage
    end = [step for step in steps if step.stage in ("publish", "give back")]
    return sum(step.minutes for step in (*of_stage, *end))


def repeat_minutes(steps: Sequence[PlanStep], repeat_limit: int) -> float:
    """Minutes that repeats add if every pair of blocks is measured again as often as allowed."""
    return repeat_limit * measuring_minutes(steps)


def measuring_minutes(steps: Sequence[PlanStep]) -> float:
    """Minutes of the trials, without those that confirm."""
    return sum(step.minutes for step in steps if step.stage == "measure" and not step.confirms)


def page_minutes(spec: ReportSpec, published: Published, topology: Topology | None) -> float:
    """Minutes that a published plan takes by hand, step by step as its page describes it.

    Every side is deployed and loaded anew. Where the page describes it, every table is analyzed,
    and before every workload but the first the cluster is stopped and its data are copied back,
    host by host. Two assumptions favour the page: fleet, load and cluster are as fast as
    Benchlab's, and nothing waits for a person.
    """
    blocks = len(spec.workloads) * spec.rounds
    one_side = DEPLOY_S + _load_s(spec)
    cells = sum(len(spec.threads_of(workload)) for workload in spec.workloads)
    one_side += spec.rounds * cells * (spec.warmup_seconds + spec.seconds)
    if "analyze" in published.describes:
        one_side += spec.dataset.rows / ANALYZE_ROWS_PER_S
    if "restore" in published.describes:
        copy = data_bytes(spec, topology) * _tikv_count(topology) / PAGE_COPY_BYTES_PER_S
        # One copy per workload: the first is the backup, the others restore it.
        one_side += blocks * (STOP_S + copy + START_S + BALANCE_S)
    provision, _, release = _around(topology) if topology else (0.0, None, 0.0)
    return (provision + len(spec.measured_sides) * one_side + release) / 60


def data_bytes(spec: ReportSpec, topology: Topology | None) -> float:
    """Bytes of one copy of the dataset, on the machine or on each storage host of a fleet."""
    if topology is None:
        return EMPTY_SERVER_BYTES + spec.dataset.rows * spec.dataset.ROW_BYTES
    hosts = _tikv_count(topology)
    return kept_bytes(spec) * min(REPLICAS, hosts) / hosts


def kept_bytes(spec: ReportSpec) -> float:
    """Bytes of the dataset in TiKV's format, each row once, as a dataset snapshot keeps it."""
    return spec.dataset.rows * spec.dataset.TIKV_ROW_BYTES


def disk_bytes(
    spec: ReportSpec, topology: Topology | None, sides: Collection[SideSpec], capacity: float = 0
) -> float:
    """Bytes of every side's data and snapshot, on the machine or on each storage host of a fleet.

    Shared blocks take less at first, but compaction rewrites them. TiDB Cloud keeps no snapshot. A
    fleet also needs space for programs, an empty store, and what TiKV keeps free.

    Args:
        capacity: bytes of a storage host's disk; 0 if unknown.
    """
    data = data_bytes(spec, topology)
    if isinstance(topology, CloudTopology):
        return len(sides) * data
    if topology is None:
        return len(sides) * 2 * data
    of_side = 2 * (EMPTY_STORE_BYTES + data) + PROGRAM_BYTES
    reserve = reserve_bytes([side.components for side in sides], capacity)
    return len(sides) * of_side + reserve * (1 + PLACEHOLDER * len(sides))


def reserve_bytes(sides: Iterable[Components], capacity: float) -> float:
    """Bytes that TiKV keeps free on a disk of this size, the most of any side; see `RESERVE`."""
    items = [components.get("tikv", {}).get(RESERVE, RESERVE_BYTES) for components in sides]
    asked = max(size_bytes(item) or 0 for item in items)
    return max(asked, RESERVE_SHARE * capacity) if asked else 0.0


_Timed = tuple[Stage, Side | None, Message, float]
_Deployment = tuple[int | None, Basis, Sequence[Side], Sequence[PlannedTrial]]


def _local(spec: ReportSpec, deployments: Iterable[_Deployment], basis: Basis) -> Iterator[_Timed]:
    dataset = spec.dataset
    prepare = PREPARE_S + dataset.rows / dataset.LOCAL_LOAD_ROWS_PER_S + (dataset.check_s or 0)
    parts = [
        part
        for part in get_args(Preparation)
        if part != "check" or spec.dataset.check_s is not None
    ]
    if all(part in basis.learned for part in parts):
        prepare = sum(basis.learned[part].seconds for part in parts)
    shape, checked = "plan-prepare", "plan-prepare-checked"
    if spec.connections:
        shape, checked = "plan-prepare-existing", "plan-prepare-existing-checked"
    shape = checked if spec.dataset.check_s is not None else shape
    what = message(shape, dataset=dataset.said)
    for number, _, sides, measured in deployments:
        for side in sides:
            yield "prepare", side, _in_deployment(number, what), prepare
        yield from _measuring(spec, measured, None, basis)
    yield from _check_again(spec, RESTART_S)
    yield "publish", None, message("plan-publish-local"), CAMPAIGN_S


def _fleet(
    spec: ReportSpec, deployments: Iterable[_Deployment], topology: Topology, basis: Basis
) -> Iterator[_Timed]:
    provision, provisioning, release = _around(topology)
    yield "provision", None, provisioning, basis.seconds("provision", provision)
    if spec.client.archive is not None:
        yield (
            "provision",
            None,
            message("plan-build-sysbench", archive=spec.client.archive),
            BUILD_S,
        )
    for number, known, sides, measured in deployments:
        prepared = _prepare(
            spec, topology, sides, kept=known.dataset == "kept", first=number in (None, 1)
        )
        if not loads_at_once(topology):  # the first side is ready before the other one is deployed
            prepared = iter(sorted(prepared, key=lambda step: (None, *sides).index(step[1])))
        for stage, side, what, seconds in _as_learned(prepared, known):
            yield stage, side, _in_deployment(number, what), seconds
        yield from _measuring(spec, measured, topology, basis)
    yield from _check_again(spec, STOP_S + START_S + BALANCE_S)
    yield "publish", None, message("plan-publish"), PUBLISH_S
    owned = isinstance(topology, HostsTopology)
    yield "give back", None, message("plan-end" if owned else "plan-give-back"), release


def _deployments(
    spec: ReportSpec,
    trials: Sequence[PlannedTrial],
    basis: Basis,
    first_prepared: Sequence[Side],
) -> Iterator[_Deployment]:
    """Each deployment: its number, None for the only one; its basis; its sides; and its trials.

    Sides are in the order in which they are prepared. A dataset that is kept on S3 is there from
    the second deployment on.
    """
    later = replace(basis, dataset="kept") if spec.snapshots is not None else basis
    for number in range(1, spec.deployments + 1):
        measured = [
            trial
            for trial in trials
            if deployment_of(trial.round, spec.rounds, spec.deployments) == number
        ]
        known = basis if number == 1 else later
        first = first_prepared[number - 1] if first_prepared else "baseline"
        sides = sorted(spec.measured_sides, key=lambda side: side != first)
        yield number if spec.deployments > 1 else None, known, sides, measured


def _in_deployment(number: int | None, what: Message) -> Message:
    if number is None:
        return what
    return message("plan-in-deployment", deployment=str(number), what=what)


def _as_learned(assumed: Iterable[_Timed], basis: Basis) -> Iterator[_Timed]:
    """Preparations with learned times in place of assumed ones.

    A stage with several steps for one side keeps the assumed ones: its steps are not timed alone.
    """
    steps = list(assumed)
    alone = Counter(step[:2] for step in steps)
    for stage, side, what, seconds in steps:
        step = "restore dataset" if (stage, basis.dataset) == ("load", "kept") else stage
        known = basis.learned.get(step) if alone[stage, side] == 1 else None
        yield stage, side, what, known.seconds if known else seconds


def _measuring(
    spec: ReportSpec, trials: Sequence[PlannedTrial], topology: Topology | None, basis: Basis
) -> Iterator[_Timed]:
    previous: PlannedTrial | None = None
    of_each = basis.seconds("trial", TRIAL_S if topology else LOCAL_TRIAL_S)
    for of_side, what, members in _portions(spec, trials):
        seconds = 0.0
        for trial in members:
            warm_up = spec.warmup_seconds if trial.warm_up else 0
            seconds += _before(spec, trial, previous, topology, basis)
            seconds += of_each + warm_up + trial.seconds
            previous = trial
        yield "measure", of_side, what, seconds


def _prepare(
    spec: ReportSpec, topology: Topology, sides: Sequence[Side], *, kept: bool, first: bool
) -> Iterator[_Timed]:
    """The steps from the deployment to the snapshots.

    Args:
        sides: in the order in which they are prepared.
        kept: with ``spec.snapshots``: whether the dataset snapshot is there already.
        first: whether it is the first deployment, whose idle servers are watched.
    """
    in_cloud = isinstance(topology, CloudTopology)
    dataset = spec.dataset.said
    for side in sides if not in_cloud else ():
        yield "deploy", side, message("plan-deploy"), DEPLOY_S
    if spec.snapshots is None:
        yield from _load(spec, topology, sides)
    else:
        per_host = data_bytes(spec, topology)
        if not kept:
            what = message("plan-load-older", dataset=dataset)
            yield "load", None, what, _load_s(spec)
            # Only one copy of each row is written.
            copies = min(REPLICAS, _tikv_count(topology))
            saved = BR_S + per_host / copies / SAVE_BYTES_PER_S
            yield "load", None, message("plan-keep"), saved
            yield "load", None, message("plan-deploy-anew"), DEPLOY_S
        seconds = len(sides) * (BR_S + per_host / SEED_BYTES_PER_S)
        what = message("plan-from-snapshot", dataset=dataset)
        yield "load", None, what, seconds
    # The second checksum, after the first restore, is counted here as well.
    checksums = 1 if spec.restore == "never" or in_cloud else 2
    seconds = _analyze_s(spec) + spec.dataset.rows * checksums / CHECKSUM_ROWS_PER_S
    for side in sides:
        what = message("plan-analyze", tables=str(ANALYZED_AT_ONCE))
        yield "analyze", side, what, seconds + _alone_s(spec, topology, first=side == sides[0])
        if (check_s := spec.dataset.check_s) is not None:
            yield "check", side, message("plan-check-load"), check_s
        if spec.restore != "never" and not in_cloud:
            what = message("plan-watch-and-back-up" if first else "plan-back-up")
            idle = idle_watch_s(spec.seconds) if first else 0.0
            yield "back up", side, what, idle + STOP_S + _copy_s(spec, topology)


def idle_watch_s(trial_s: float, most: float = IDLE_S) -> float:
    """Seconds for which idle servers are watched, once a campaign, before the first snapshot.

    Two trials at most, so that a campaign of short trials is not mostly waiting.
    """
    return min(most, 2 * trial_s)


def loads_at_once(topology: Topology | None) -> bool:
    """Whether the client loads both sides at the same time.

    On rented hosts, where each server has a host of its own. On owned hosts servers may share one,
    and two running clusters may need more memory than it has.
    """
    return isinstance(topology, Ec2Topology)


def _alone_s(spec: ReportSpec, topology: Topology, *, first: bool) -> float:
    """Seconds until a side runs alone, where both have run since the load.

    The first side stops the second. The second is later started again, by when the first side's
    backup, if any, has stopped the first.
    """
    if len(spec.measured_sides) == 1 or not loads_at_once(topology):
        return 0.0
    if first:
        return STOP_S
    return START_S + (STOP_S if spec.restore == "never" else 0.0)


def _load(spec: ReportSpec, topology: Topology, sides: Sequence[Side]) -> Iterator[_Timed]:
    if len(sides) > 1 and loads_at_once(topology):
        what = message("plan-load-both", dataset=spec.dataset.said)
        yield "load", None, what, LOAD_BESIDE * _load_s(spec)
        return
    for side in sides:
        yield "load", side, message("plan-load", dataset=spec.dataset.said), _load_s(spec)


def _analyze_s(spec: ReportSpec) -> float:
    """Seconds until the last of several tables is analyzed."""
    share = max(1 / ANALYZED_AT_ONCE, spec.dataset.largest_share)
    return share * spec.dataset.rows / ANALYZE_ROWS_PER_S


def _check_again(spec: ReportSpec, start_s: float) -> Iterator[_Timed]:
    """The checks after the last trial, for which each side is started without a restore."""
    if (check_s := spec.dataset.check_s) is not None:
        for side in spec.measured_sides:
            yield "check", side, message("plan-check-end"), start_s + check_s


def _before(
    spec: ReportSpec,
    trial: PlannedTrial,
    previous: PlannedTrial | None,
    topology: Topology | None,
    basis: Basis,
) -> float:
    """Seconds until the side of a trial is up with the data that it needs."""
    if isinstance(topology, CloudTopology) or spec.connections:
        # A snapshot cannot be restored there: the tables are dropped and loaded again.
        return _load_s(spec) + _analyze_s(spec) if trial.restore else 0.0
    settled = SETTLED_S if topology and spec.leaders == "as_placed" else 0.0
    restart = STOP_S + START_S + BALANCE_S + (settled or LEVEL_S) if topology else RESTART_S
    configure = CONFIGURE_S if trial.configure else 0.0
    if trial.restore:
        copy = _copy_s(spec, topology) if topology else RESTORE_S
        return configure + basis.seconds("restore", restart + copy)
    if previous is None or previous.side != trial.side or trial.configure:
        return configure + basis.seconds("restart", restart)
    return settled


def _portions(
    spec: ReportSpec, trials: Sequence[PlannedTrial]
) -> Iterator[tuple[Side | None, Message, list[PlannedTrial]]]:
    """The trials in portions for display: by round, or, in sequence, by side and workload."""
    by_workload = spec.placement == "sequential" or spec.sides == "single"
    portions: dict[tuple[Side | None, str], list[PlannedTrial]] = {}
    for trial in trials:
        key: tuple[Side | None, str] = (None, str(trial.round))
        if by_workload:
            key = (trial.side, trial.workload.removeprefix("oltp_"))
        portions.setdefault(key, []).append(trial)
    for (side, name), members in portions.items():
        what = message(
            "plan-measure",
            portion=name if by_workload else message("plan-round", round=name),
            trials=str(len(members)),
            seconds=str(spec.seconds),
            restores=sum(trial.restore for trial in members),
            changes=sum(trial.configure for trial in members),
        )
        yield side, what, members


def _around(topology: Topology) -> tuple[float, Message, float]:
    """Seconds of provisioning, its description, and seconds of giving back."""
    match topology:
        case Ec2Topology():
            hosts = str(_host_count(topology))
            what = message("plan-rent", hosts=hosts, region=topology.region)
            return PROVISION_S, what, RELEASE_S
        case CloudTopology():
            shape = "plan-cloud" if topology.client == "here" else "plan-cloud-and-client"
            return CLOUD_PROVISION_S, message(shape, region=topology.region), RELEASE_S
        case HostsTopology():
            what = message("plan-log-in", hosts=str(len(topology.hosts)))
            return CHECK_HOSTS_S, what, STOP_S


def _load_s(spec: ReportSpec) -> float:
    return spec.dataset.rows / spec.dataset.LOAD_ROWS_PER_S


def _copy_s(spec: ReportSpec, topology: Topology) -> float:
    """Rented disks have XFS, which shares blocks; an owned host's file system is not known."""
    if isinstance(topology, HostsTopology):
        return data_bytes(spec, topology) / COPY_BYTES_PER_S
    return REFLINK_S


def _host_count(topology: Topology | None) -> int:
    match topology:
        case Ec2Topology():
            return sum(machines.count for machines in topology.roles.values())
        case HostsTopology():
            return len(topology.hosts)
        case _:
            return 1


def _tikv_count(topology: Topology | None) -> int:
    match topology:
        case Ec2Topology():
            return topology.roles["tikv"].count
        case HostsTopology():
            return sum("tikv" in host.roles for host in topology.hosts)
        case CloudTopology():
            return topology.tikv.count
        case None:
            return 1
