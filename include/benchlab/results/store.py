"""The results store: every campaign, trial, sample and gate, and where the raw output is kept.

A database (SQLite, MySQL protocol, PostgreSQL) holds what is queried; raw output and series are
kept under an object root (a directory, or any URL that fsspec reads). A trial is written once: the
key (campaign, trial, attempt) is unique, so that a task repeated after a crash finds its earlier
result.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import Connection, make_url
from upath import UPath

from benchlab.errors import AnotherPlanError, StoreError
from benchlab.home import Home
from benchlab.language import Said
from benchlab.patience import Patience
from benchlab.plan.rates import StepTime
from benchlab.plan.report_type import ReportSpec
from benchlab.results.database import StoreDatabase
from benchlab.results.findings import Findings
from benchlab.results.kept import Kept
from benchlab.results.listing import Listing, batches
from benchlab.results.objects import Objects
from benchlab.results.records import (
    Campaign,
    CampaignEnvironment,
    Failure,
    Remarks,
    SideFacts,
    StoredVerdict,
    TrialFigures,
    TrialKey,
    TrialResult,
)
from benchlab.results.rows import (
    CAMPAIGNS,
    DEFINITIONS,
    FIGURES,
    KEPT,
    METADATA,
    NAMES,
    REASONS,
    REMARKS,
    STEP_TIMES,
    SUMMARIES,
    TEXTS,
    TRIALS,
    VERDICTS,
    as_json,
    campaign_of,
    campaign_row,
    definitions_row,
    failure_of,
    moment,
    reading,
    summary_row,
    trial_of,
    trial_row,
)
from benchlab.results.spending import Spendings

log = logging.getLogger(__name__)
_STEP_TIME = TypeAdapter(StepTime)
_STANDING = sa.select(*(CAMPAIGNS.c[name] for name in ("id", "started_at", "state", "ended_at")))


class Store:
    """Reads and writes results: ``Store(home.store_url, home.objects).campaign("c1").plan``.

    Args:
        url: SQLAlchemy's URL of the database. Its password is never shown.
        objects: root of raw output and series.
        patience: waits for database and objects if they are away; None to wait for neither.

    Attributes:
        patience: a campaign that begins sets its ``limit_s``.

    Raises:
        StoreError: from every method, if the database cannot be reached or refuses a statement;
            here also if the URL cannot be read or the store has another revision.
    """

    def __init__(self, url: str, objects: UPath, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self.database = StoreDatabase(url, patience=self.patience)
        self.transaction = self.database.transaction
        self.objects = objects
        self._objects = Objects(objects)
        # Computed documents that would take long to compute again.
        self.kept = Kept(self.transaction)
        self.listing = Listing(self.transaction)
        self.findings = Findings(self.transaction)
        self.spending = Spendings(self.transaction)

    def close(self) -> None:
        """Close the database connections, and the archives that were read."""
        self.database.close()
        self._objects.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Campaigns

    def add_campaign(self, campaign: Campaign) -> bool:
        """Write a new campaign, or leave a stored one that measures the same unchanged.

        The stored plan, with its order of trials, stays.

        Returns:
            True if the campaign is new.

        Raises:
            AnotherPlanError: the campaign stored under this id measures something else.
        """
        with contextlib.suppress(sa.exc.IntegrityError), self.transaction() as connection:
            # Fails where it is stored already, perhaps just now by another process.
            connection.execute(CAMPAIGNS.insert().values(**campaign_row(campaign)))
            connection.execute(SUMMARIES.insert().values(**summary_row(campaign)))
            return True
        found = self.campaign(campaign.id)
        # Newer knowledge of dataset, steps or price does not make it another plan.
        asked, engine = campaign.report_type, found.plan.engine
        differing = found.report_type.measured_otherwise(asked, engine)
        if differing := differing or found.plan.measured_otherwise(campaign.plan):
            raise AnotherPlanError(campaign.id, differing)
        return False

    def take_over(self, campaign: str, spec: ReportSpec) -> None:
        """Replace a campaign's report type by one that measures the same."""
        with self.transaction() as connection:
            self._update(connection, campaign, spec=as_json(spec.model_dump(mode="json")))

    def campaign(self, campaign: str) -> Campaign:
        """Read one campaign: ``store.campaign("c1").plan``.

        Raises:
            StoreError: there is none with this id, or it cannot be read.
        """
        return campaign_of(self._campaign_row(campaign))

    def target_and_state(self, campaign: str) -> tuple[str, str]:
        """A campaign's target and state, even if this version cannot read the rest of it.

        Raises:
            StoreError: there is none with this id, or its plan is not JSON with a target.
        """
        row = self._campaign_row(campaign)
        with reading(f"campaign {campaign}: its plan"):
            return json.loads(row.plan)["target"], row.state

    def origin(self, campaign: str) -> str:
        """How a campaign was started: :attr:`Campaign.origin`, even if the rest cannot be read."""
        return str(self._campaign_row(campaign).origin)

    def regions(self, campaign: str | None = None) -> set[str]:
        """The AWS regions in the plans of one campaign, or of all.

        Example: ``store.regions()`` is ``{"us-west-2"}``.
        """
        chosen = sa.select(CAMPAIGNS.c.id, CAMPAIGNS.c.plan)
        if campaign is not None:
            chosen = chosen.where(CAMPAIGNS.c.id == campaign)
        with self.transaction() as connection:
            rows = connection.execute(chosen).all()
        found = set[str]()
        for row in rows:
            with reading(f"campaign {row.id}: its plan"):
                found |= {json.loads(row.plan).get("region")} - {None}
        return found

    def _campaign_row(self, campaign: str) -> Any:
        with self.transaction() as connection:
            row = connection.execute(
                sa.select(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign)
            ).one_or_none()
        if row is None:
            raise self._unknown(campaign)
        return row

    def _unknown(self, campaign: str) -> StoreError:
        known = ", ".join(self.campaign_ids()[:5]) or "it is empty"
        return StoreError(
            f"no campaign {campaign!r} in {self.database.shown_url}; the latest ones are: {known}"
        )

    def campaign_ids(self) -> list[str]:
        """The ids of all campaigns, the most recently started first."""
        with self.transaction() as connection:
            return list(
                connection.scalars(
                    sa.select(CAMPAIGNS.c.id).order_by(CAMPAIGNS.c.started_at.desc())
                )
            )

    def report_names(self) -> list[str]:
        """The names of report types that have campaigns, sorted."""
        with self.transaction() as connection:
            names = sa.select(CAMPAIGNS.c.report).distinct().order_by(CAMPAIGNS.c.report)
            return list(connection.scalars(names))

    def started_by(self, report: str, origin: str) -> str | None:
        """The id of the latest campaign of a report type that ``origin`` started, if any.

        Example:
            ``store.started_by("tpcc_ec2", "Airflow run manual__2026-01-05")``
        """
        with self.transaction() as connection:
            found: str | None = connection.scalar(
                sa.select(CAMPAIGNS.c.id)
                .filter_by(report=report, origin=origin)
                .order_by(CAMPAIGNS.c.started_at.desc())
                .limit(1)
            )
        return found

    def begun_by(self, origins: Collection[str]) -> set[tuple[str, str]]:
        """Which of these origins started campaigns: pairs of report type and origin.

        Example:
            ``store.begun_by(["Airflow run manual__2026-01-05"])``
        """
        columns = CAMPAIGNS.c.report, CAMPAIGNS.c.origin
        with self.transaction() as connection:
            asked = sa.select(*columns).where(columns[1].in_(origins))
            return {(one.report, one.origin) for one in connection.execute(asked)}

    def campaigns(self, report: str | None = None, state: str | None = None) -> list[Campaign]:
        """All campaigns, or those of one report type or state, the earliest first.

        A campaign that cannot be read, for instance because another version of Benchlab measured
        it, is left out with a warning in the log, so that the others can still be read.
        """
        asked = {"report": report, "state": state}
        chosen = (
            sa.select(CAMPAIGNS)
            .filter_by(**{name: value for name, value in asked.items() if value is not None})
            .order_by(CAMPAIGNS.c.started_at, CAMPAIGNS.c.id)
        )
        with self.transaction() as connection:
            rows = connection.execute(chosen).all()
        found = []
        for row in rows:
            try:
                found.append(campaign_of(row))
            except StoreError as error:
                log.warning("left out: %s", error)
        return found

    def naming(self, text: str) -> set[str]:
        """The ids of campaigns whose report type as run has this text, such as a build's hash."""
        found = sa.select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.spec.contains(text, autoescape=True))
        with self.transaction() as connection:
            return set(connection.scalars(found))

    def environment(self, campaign: str) -> dict[str, str]:
        """A campaign's environment, even if the rest cannot be read."""
        with reading(f"campaign {campaign}: its environment"):
            return TEXTS.validate_json(self._campaign_row(campaign).environment)

    def environments(
        self, since: date = date.min, campaigns: Collection[str] | None = None
    ) -> dict[str, CampaignEnvironment]:
        """The environments of campaigns started on or after a day (UTC), by campaign.

        Args:
            campaigns: only these; None: all.

        Example:
            ``store.environments(date(2026, 11, 1))["c1"].environment.get(SPENT)``
        """
        names = ("id", "report", "started_at", "environment")
        # Stored times are UTC in ISO 8601, so text order is time order.
        begun = CAMPAIGNS.c.started_at >= since.isoformat()
        asked = sa.select(*(CAMPAIGNS.c[name] for name in names)).where(begun)
        parts = [asked]
        if campaigns is not None:
            parts = [asked.where(CAMPAIGNS.c.id.in_(some)) for some in batches([*campaigns])]
        with self.transaction() as connection:
            rows = [row for part in parts for row in connection.execute(part)]
        found = {}
        for row in rows:
            with reading(f"campaign {row.id}: its environment"):
                found[row.id] = CampaignEnvironment(
                    row.report, moment(row.started_at), TEXTS.validate_json(row.environment)
                )
        return found

    def standings(self, report: str) -> dict[str, str]:
        """How each campaign of a report type stands, by id, the earliest first.

        While that stays the same, nothing changes of it but its trials.
        """
        with self.transaction() as connection:
            asked = _STANDING.where(CAMPAIGNS.c.report == report)
            rows = connection.execute(asked.order_by(CAMPAIGNS.c.started_at, CAMPAIGNS.c.id)).all()
        return {row.id: as_json([*row[1:]]) for row in rows}

    def states(self, campaigns: Sequence[str]) -> dict[str, str]:
        """A fingerprint of each of these campaigns, by id.

        An unchanged fingerprint means that no trial was added or became invalid, and that the
        campaign was not resumed: trials are never removed, nor do they become valid again. Trials
        are counted, not read.
        """
        valid = sa.func.sum(sa.case((TRIALS.c.valid.is_(sa.true()), 1), else_=0))
        counted = sa.select(TRIALS.c.campaign, sa.func.count(), valid)
        found: dict[str, str] = {}
        with self.transaction() as connection:
            for ids in batches(campaigns):
                own = counted.where(TRIALS.c.campaign.in_(ids)).group_by(TRIALS.c.campaign)
                trials = {row[0]: (row[1], int(row[2])) for row in connection.execute(own)}
                for row in connection.execute(_STANDING.where(CAMPAIGNS.c.id.in_(ids))):
                    found[row.id] = as_json([*row[1:], *trials.get(row.id, (0, 0))])
        return found

    def set_facts(self, campaign: str, side: str, facts: SideFacts) -> None:
        """Replace the facts recorded about a deployed side."""
        with self._locked(campaign) as (connection, row):
            with reading(f"campaign {campaign}: its facts"):
                merged = {**json.loads(row.facts), side: asdict(facts)}
            self._update(connection, campaign, facts=as_json(merged))

    def set_environment(self, campaign: str, environment: dict[str, str]) -> None:
        """Replace :attr:`Campaign.environment`."""
        with self.transaction() as connection:
            self._update(connection, campaign, environment=as_json(environment))

    def add_to_environment(self, campaign: str, key: str, text: str) -> None:
        """Set one key of :attr:`Campaign.environment`; the others stay."""
        with self._locked(campaign) as (connection, row):
            with reading(f"campaign {campaign}: its environment"):
                added = {**json.loads(row.environment), key: text}
            self._update(connection, campaign, environment=as_json(added))

    def finish(self, campaign: str, state: Literal["complete", "failed"]) -> None:
        """Set a campaign's final state, and now as its end."""
        with self.transaction() as connection:
            self._update(connection, campaign, state=state, ended_at=_now())

    def reopen(self, campaign: str) -> None:
        """Mark a resumed campaign as running again, and forget its failure and its end."""
        with self.transaction() as connection:
            self._update(connection, campaign, state="running", ended_at=None, failure=None)

    def fail(self, campaign: str, failure: Failure | None) -> None:
        """Record a campaign's failure in place of the earlier one; None clears it."""
        with self.transaction() as connection:
            self._set_failure(connection, campaign, failure)

    def _set_failure(self, connection: Connection, campaign: str, failure: Failure | None) -> None:
        text = None if failure is None else as_json(asdict(failure))
        self._update(connection, campaign, failure=text)

    def overcome(self, campaign: str, *stages: str) -> None:
        """Forget the failure of any of these stages, which have succeeded since."""
        if self.failure(campaign) is None:
            return
        with self._locked(campaign) as (connection, row):
            found = failure_of(campaign, row.failure)
            if found is not None and (left := found.overcome(stages)) != found:
                self._set_failure(connection, campaign, left)

    def failure(self, campaign: str) -> Failure | None:
        """A campaign's last failure, if nothing has cleared it since.

        Example:
            ``store.failure("c1").said`` is ``("port 13306 of this machine is taken",)``.
        """
        return failure_of(campaign, self._campaign_row(campaign).failure)

    # What was decided

    def set_verdicts(self, campaign: str, verdicts: Sequence[StoredVerdict]) -> None:
        """Replace a campaign's verdicts as lists show them, and record what they find.

        Raises:
            StoreError: there is no such campaign, or it cannot be read.
        """
        made = self.campaign(campaign)
        with self.findings.in_turn(made.plan.report) as connection:
            connection.execute(VERDICTS.delete().filter_by(campaign=campaign))
            for position, verdict in enumerate(verdicts):
                connection.execute(
                    VERDICTS.insert().values(
                        campaign=campaign, position=position, **asdict(verdict)
                    )
                )
            self.findings.record(connection, made, verdicts)

    # What steps took

    def set_step_time(
        self, campaign: str, topology: str, engine: str, time: StepTime, number: int = 1
    ) -> None:
        """Record how long a step of a campaign took.

        Example:
            ``store.set_step_time("c1", "ec2_first", "tidb", StepTime("load", None, 61.5, size))``

        Args:
            topology: its name; on one machine the name of the target.
            number: 1 for the campaign's first such step, which replaces what was recorded; from 2
                on, the mean of all of them so far is kept.
        """
        key = {"campaign": campaign, "step": time.step, "side": time.side or ""}
        size = {"size": time.size.number, "unit": time.size.unit}
        with self.transaction() as connection:
            known = connection.scalar(sa.select(STEP_TIMES.c.seconds).filter_by(**key))
            earlier = time.seconds if known is None or number == 1 else known
            connection.execute(STEP_TIMES.delete().filter_by(**key))
            connection.execute(
                STEP_TIMES.insert().values(
                    **key,
                    **size,
                    topology=topology,
                    engine=engine,
                    seconds=earlier + (time.seconds - earlier) / number,
                )
            )

    def step_times(self, topology: str, engine: str) -> list[tuple[str, StepTime]]:
        """Times of an engine's steps on a topology, each with its campaign, the latest first."""
        chosen = (
            sa.select(STEP_TIMES)
            .join(CAMPAIGNS, CAMPAIGNS.c.id == STEP_TIMES.c.campaign)
            .filter(STEP_TIMES.c.topology == topology, STEP_TIMES.c.engine == engine)
            .order_by(CAMPAIGNS.c.started_at.desc(), CAMPAIGNS.c.id)
        )
        with self.transaction() as connection:
            rows = connection.execute(chosen).all()
        found = []
        for row in rows:
            with reading(f"campaign {row.campaign}: its step {row.step}"):
                size = {"number": row.size, "unit": row.unit}
                step = {"step": row.step, "side": row.side or None, "seconds": row.seconds}
                found.append((row.campaign, _STEP_TIME.validate_python({**step, "size": size})))
        return found

    @contextlib.contextmanager
    def _locked(self, campaign: str) -> Iterator[tuple[Connection, Any]]:
        """A campaign's row, which no other process changes before the transaction ends."""
        with self.transaction() as connection:
            # SQLite has no FOR UPDATE; a write locks it.
            connection.execute(CAMPAIGNS.update().filter_by(id=campaign).values(id=campaign))
            row = connection.execute(
                sa.select(CAMPAIGNS).where(CAMPAIGNS.c.id == campaign).with_for_update()
            ).one_or_none()
            if row is not None:
                yield connection, row
                return
        raise self._unknown(campaign)

    def _update(self, connection: Connection, campaign: str, **values: Any) -> None:
        connection.execute(CAMPAIGNS.update().where(CAMPAIGNS.c.id == campaign).values(**values))
        connection.execute(KEPT.delete().filter_by(name=campaign))

    # Trials

    def add_trial(self, campaign: str, result: TrialResult) -> None:
        """Write one attempt of a trial with its samples and gates, all or nothing.

        Raises:
            StoreError: this attempt is stored already, or the campaign is not.
        """
        key = {"campaign": campaign, "trial": result.trial.id, "attempt": result.attempt}
        definitions = definitions_row(result)
        row = {**key, "definitions": definitions["id"], **trial_row(result)}
        try:
            self._define(campaign, definitions)
            with self.transaction() as connection:
                connection.execute(TRIALS.insert().values(row))
        except sa.exc.IntegrityError as error:
            self.campaign(campaign)  # raises where the campaign is what is missing
            raise StoreError(
                f"trial {result.trial.id} (attempt {result.attempt}) of {campaign} is in the "
                "store already"
            ) from error

    def _define(self, campaign: str, definitions: Mapping[str, str]) -> None:
        key = {"campaign": campaign, "id": definitions["id"]}
        with contextlib.suppress(sa.exc.IntegrityError), self.transaction() as connection:
            if connection.scalar(sa.select(DEFINITIONS.c.id).filter_by(**key)) is None:
                # Fails where another process has just written the same.
                connection.execute(DEFINITIONS.insert().values(campaign=campaign, **definitions))

    def invalidate(self, campaign: str, trial: str, attempt: int, reason: Said) -> None:
        """Mark a stored trial as invalid; ``reason`` replaces its reasons, its figures stay.

        Example:
            ``store.invalidate("c1", "r1-baseline-tpcc-t8", 1, message("reason-cut"))``
        """
        with self.transaction() as connection:
            connection.execute(
                TRIALS.update()
                .filter_by(campaign=campaign, trial=trial, attempt=attempt)
                .values(valid=False, reasons=as_json([reason]))
            )

    def trial(self, campaign: str, trial: str, attempt: int) -> TrialResult | None:
        """One attempt of a trial; None where it is not stored."""
        return next(iter(self._read_trials(campaign, trial=trial, attempt=attempt)), None)

    def trial_ids(self, campaign: str) -> list[str]:
        """The ids of a campaign's stored trials, each once, sorted."""
        measured = sa.select(TRIALS.c.trial).where(TRIALS.c.campaign == campaign).distinct()
        with self.transaction() as connection:
            return sorted(connection.scalars(measured))

    def trials(self, campaign: str) -> list[TrialResult]:
        """All trials of a campaign, including invalid ones, by attempt and then in plan order."""
        return self._read_trials(campaign)

    def figures(self, campaign: str, metrics: Collection[str]) -> dict[TrialKey, TrialFigures]:
        """Some metrics of a campaign's trials, by trial and attempt, in the order of measuring.

        Takes one query, so it can be repeated while a campaign runs.

        Example:
            ``store.figures("c1", ["tps"])[trial_id, 1].values["tps"]``
        """
        names = ("trial", "attempt", "valid", "reasons", "samples")
        chosen = sa.select(*(TRIALS.c[name] for name in names)).order_by(TRIALS.c.started_at)
        with self.transaction() as connection:
            rows = connection.execute(chosen.filter_by(campaign=campaign)).all()
        found: dict[TrialKey, TrialFigures] = {}
        with reading(f"campaign {campaign}: the figures of its trials"):
            for row in rows:
                samples = FIGURES.validate_json(row.samples).items()
                values = {metric: value for metric, value in samples if metric in metrics}
                reasons = REASONS.validate_json(row.reasons)
                found[row.trial, int(row.attempt)] = TrialFigures(row.valid, reasons, values)
        return found

    def _read_trials(self, campaign: str, **key: str | int) -> list[TrialResult]:
        with self.transaction() as connection:
            chosen = sa.select(TRIALS).filter_by(campaign=campaign, **key)
            rows = _as_dicts(connection.execute(chosen))
            definitions = self._definitions(connection, campaign)
        results = [trial_of(row, definitions) for row in rows]
        return sorted(results, key=lambda result: (result.attempt, result.trial.index))

    def _definitions(self, connection: Connection, campaign: str) -> dict[str, Any]:
        """What the figures of a campaign's trials are of, by id."""
        rows = connection.execute(sa.select(DEFINITIONS).filter_by(campaign=campaign)).all()
        with reading(f"campaign {campaign}: what its trials were judged by"):
            return {row.id: json.loads(row.document) for row in rows}

    # Objects

    def write_bytes(self, name: str, content: bytes) -> str:
        """Write bytes under the object root; returns ``name``.

        Raises:
            StoreError: they cannot be written.
        """
        self.patience.call(lambda: self._objects.write(name, content))
        return name

    def read_bytes(self, name: str) -> bytes:
        """Read what :meth:`write_bytes` wrote under this name, sealed or not.

        Raises:
            StoreError: they are missing or cannot be read.
        """
        return self.patience.call(lambda: self._objects.read(name))

    def seal(self, campaign: str) -> None:
        """Pack the objects of a campaign's stored trials into an archive; see :class:`Objects`.

        Raises:
            StoreError: they cannot be sealed; they can still be read.
        """
        kinds = [TRIALS.c[kind] for kind in ("raw", "series", "hosts", "counts")]
        with self.transaction() as connection:
            rows = connection.execute(sa.select(*kinds).where(TRIALS.c.campaign == campaign)).all()
        names = {name for row in rows for name in row if name is not None}
        self.patience.call(lambda: self._objects.seal(campaign, names))

    def objects_below(self, folder: str) -> dict[str, int]:
        """The sizes in bytes of all objects below a folder, by name; empty if there are none.

        Example:
            ``store.objects_below("c1/diagnosis/")["c1/diagnosis/tidb-1.pb.gz"]`` is 81920.

        Raises:
            StoreError: they cannot be listed.
        """
        return self.patience.call(lambda: self._objects.below(folder))

    def remove_objects(self, names: Iterable[str]) -> None:
        """Remove objects; those that are gone already do not matter.

        Raises:
            StoreError: one cannot be removed.
        """
        gone = [*names]
        self.patience.call(lambda: self._objects.remove(gone))

    # Remarks of people, and the end of a campaign

    def remarks(self) -> dict[str, Remarks]:
        """People's remarks, by campaign; campaigns without remarks are left out.

        Example: ``store.remarks()["c1"].tags`` is ``("before-upgrade",)``.
        """
        with self.transaction() as connection:
            rows = connection.execute(sa.select(REMARKS)).all()
        found = {}
        for row in rows:
            with reading(f"campaign {row.campaign}: its remarks"):
                found[row.campaign] = Remarks(row.note, NAMES.validate_json(row.tags))
        return found

    def set_remarks(self, campaign: str, remarks: Remarks) -> None:
        """Replace a campaign's remarks; ``Remarks()`` removes them.

        Raises:
            StoreError: there is no such campaign.
        """
        self._campaign_row(campaign)
        row = {"note": remarks.note, "tags": as_json(sorted(set(remarks.tags)))}
        with self.transaction() as connection:
            connection.execute(REMARKS.delete().filter_by(campaign=campaign))
            if remarks != Remarks():
                connection.execute(REMARKS.insert().values(campaign=campaign, **row))

    def delete_campaign(self, campaign: str) -> None:
        """Remove all rows of a campaign, in one transaction; its objects stay.

        Raises:
            StoreError: there is no such campaign, or the database refuses; nothing was removed.
        """
        try:
            with self._locked(campaign) as (connection, _):
                for table in reversed(METADATA.sorted_tables):
                    if "campaign" in table.c:
                        connection.execute(table.delete().where(table.c.campaign == campaign))
                connection.execute(KEPT.delete().where(KEPT.c.name == campaign))
                connection.execute(CAMPAIGNS.delete().where(CAMPAIGNS.c.id == campaign))
        except sa.exc.IntegrityError as error:
            raise StoreError(
                f"{campaign}: nothing was removed, as a table that this Benchlab does not know "
                f"refers to it: {error.orig}"
            ) from error

    def delete_objects(self, campaign: str) -> None:
        """Remove a campaign's raw outputs and series, if there are any.

        Raises:
            StoreError: they cannot be removed.
        """
        self._objects.remove_all(campaign)


def open_store(home: Home) -> Store:
    """The results store of an installation.

    Example:
        ``with open_store(find()) as store: store.campaigns()``

    Raises:
        StoreError: as :class:`Store`.
    """
    return Store(home.store_url, home.objects)


def upgrade(home: Home, say: Callable[[str], None]) -> None:
    """Upgrade a store that an earlier release made; harmless otherwise.

    Example:
        ``upgrade(find(), print)`` after Benchlab was updated, before anything writes

    Args:
        say: receives a sentence for each thing done.

    Raises:
        StoreError: as :class:`Store`.
    """
    if is_there(home):
        StoreDatabase(home.store_url, say).close()


def is_there(home: Home) -> bool:
    """Whether an installation has a store; a server's URL counts as one. Creates none."""
    try:
        url = make_url(home.store_url)
    except (sa.exc.ArgumentError, ValueError):
        return True  # the store says what is wrong with its URL
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


_Row = dict[str, Any]


def _as_dicts(found: sa.CursorResult[Any]) -> list[_Row]:
    """Rows as dictionaries; SQLAlchemy's mappings are slow, and a campaign has 10,000 rows."""
    names = tuple(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]


def _now() -> str:
    return datetime.now(UTC).isoformat()
