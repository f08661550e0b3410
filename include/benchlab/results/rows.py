"""The tables of the results store, and the conversion of campaigns and trials to rows and back.

Example:
    ``campaign_of(row)`` restores what ``campaign_row(campaign)`` wrote.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter
from pydantic_core import from_json

from benchlab.errors import StoreError
from benchlab.language import Said
from benchlab.plan.documents import faults
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.results.records import (
    Campaign,
    CampaignSummary,
    Failure,
    GateStatus,
    SideFacts,
    State,
    StoredVerdict,
    TrialResult,
)

_REPORT_TYPE = TypeAdapter(ReportSpec)
_FACTS = TypeAdapter(dict[Side, SideFacts])
TEXTS = TypeAdapter(dict[str, str])
NAMES = TypeAdapter(tuple[str, ...])
FIGURES = TypeAdapter(dict[str, float | None])
_STATE: TypeAdapter[State] = TypeAdapter(State)
_SUMMARY = TypeAdapter(CampaignSummary)
_TRIAL = TypeAdapter(TrialResult)
_SAID: TypeAdapter[Said] = TypeAdapter(Said)
_FAILURE = TypeAdapter(Failure)
REASONS: TypeAdapter[tuple[Said, ...]] = TypeAdapter(tuple[Said, ...])
_OF_GATE = ("gate", "own", "kind", "least", "most", "unit")
# How a gate's status is written in the column `figures`.
_STATUSES: dict[GateStatus, str] = {"pass": "p", "fail": "f", "not evaluated": "n"}
_WRITTEN = {written: status for status, written in _STATUSES.items()}
_VERDICT = tuple(field.name for field in fields(StoredVerdict))

METADATA = sa.MetaData()
# MySQL's TEXT holds 64 KB; an index of 767 bytes holds 191 characters of utf8mb4.
_Document = sa.Text().with_variant(sa.Text(2**32 - 1), "mysql", "mariadb")
_Packed = sa.LargeBinary().with_variant(sa.LargeBinary(2**32 - 1), "mysql", "mariadb")
_Key = sa.String(160)

# The version of Benchlab that brought the store to each revision of its schema.
REVISIONS = sa.Table(
    "revisions",
    METADATA,
    sa.Column("revision", sa.String(32), primary_key=True),
    sa.Column("benchlab", sa.String(40), nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
)

CAMPAIGNS = sa.Table(
    "campaigns",
    METADATA,
    sa.Column("id", _Key, primary_key=True),
    sa.Column("report", _Key, nullable=False, index=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("origin", sa.String(255), nullable=False),
    sa.Column("engine_reason", _Document, nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("plan", _Document, nullable=False),
    sa.Column("spec", _Document, nullable=False),
    sa.Column("environment", _Document, nullable=False),
    sa.Column("facts", _Document, nullable=False),
    sa.Column("planned_for", sa.String(40)),
    sa.Column("failure", _Document),
)

# What the figures of trials are of: the unit of each metric, and what each gate allows. It is the
# same for most trials of a campaign, and kept once, under its hash.
DEFINITIONS = sa.Table(
    "definitions",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("document", _Document, nullable=False),
)

# `samples` has the values by metric. `packed` is compressed JSON: what its gates found, in the
# order of its definitions, its phases and its hosts' figures. Rows of gates were 81 % of a store.
TRIALS = sa.Table(
    "trials",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("trial", _Key, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("valid", sa.Boolean, nullable=False),
    sa.Column("planned", _Document, nullable=False),
    sa.Column("reasons", _Document, nullable=False),
    sa.Column("adopted", sa.Boolean, nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40), nullable=False),
    sa.Column("raw", sa.String(500)),
    sa.Column("series", sa.String(500)),
    sa.Column("hosts", sa.String(500)),
    sa.Column("counts", sa.String(500)),
    sa.Column("definitions", sa.String(64), nullable=False),
    sa.Column("samples", _Document, nullable=False),
    sa.Column("packed", _Packed, nullable=False),
    sa.ForeignKeyConstraint(
        ["campaign", "definitions"], ["definitions.campaign", "definitions.id"]
    ),
)
# How many trials a campaign has and how many of them are valid, without reading any of them.
sa.Index("trials_by_validity", TRIALS.c.campaign, TRIALS.c.valid)

PUBLISHED_REPORTS = sa.Table(
    "published_reports",
    METADATA,
    sa.Column("id", _Key, primary_key=True),
    sa.Column("source", sa.String(500), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("imported_at", sa.String(40), nullable=False),
    sa.Column("page", sa.String(500), nullable=False),
    sa.Column("report", _Document, nullable=False),
)

# What notifiers have sent: a row for each notifier and event.
NOTICES = sa.Table(
    "notices",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("notifier", sa.String(255), nullable=False),
    sa.Column("event", sa.String(32), nullable=False),
    sa.Column("told_at", sa.String(40), nullable=False),
)


# How long each step of a campaign took; later plans of its topology and engine learn from it.
# `side` is empty for a step that is not about one side.
STEP_TIMES = sa.Table(
    "step_times",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("step", sa.String(32), primary_key=True),
    sa.Column("side", sa.String(16), primary_key=True),
    sa.Column("topology", _Key, nullable=False, index=True),
    sa.Column("engine", _Key, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
    sa.Column("unit", sa.String(16), nullable=False),
)

# What campaigns that rent may cost at most and have cost, in dollars, and the vCPUs that they
# hold, in all and by quota. `id` is a campaign's: a row stays when its campaign is deleted.
SPENDING = sa.Table(
    "spending",
    METADATA,
    sa.Column("id", _Key, primary_key=True),
    sa.Column("report", _Key, nullable=False),
    sa.Column("month", sa.String(7), nullable=False, index=True),
    sa.Column("begun_at", sa.String(40), nullable=False),
    sa.Column("until", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("committed", sa.Double, nullable=False),
    sa.Column("spent", sa.Double, nullable=False),
    sa.Column("region", sa.String(32)),
    sa.Column("vcpus", sa.Integer),
    sa.Column("quotas", _Document, nullable=False),
)

# The verdicts of a campaign's last published report, for lists only: a report is always computed
# from the trials.
VERDICTS = sa.Table(
    "verdicts",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("workload", _Key, nullable=False),
    sa.Column("metric", sa.String(60), nullable=False),
    sa.Column("verdict", sa.String(16), nullable=False),
    sa.Column("estimate_pct", sa.Double),
    sa.Column("low_pct", sa.Double),
    sa.Column("high_pct", sa.Double),
    sa.Column("p_adjusted", sa.Double),
    sa.Column("rule", sa.Integer, nullable=False),
)

# What lists show of a campaign beside its row, and filter by. It follows from fields of plan and
# report type that never change.
SUMMARIES = sa.Table(
    "summaries",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("engine", _Key, nullable=False),
    sa.Column("baseline", sa.String(500)),
    sa.Column("candidate", sa.String(500)),
    sa.Column("measures_noise", sa.Boolean, nullable=False),
    sa.Column("canary_pct", sa.Double),
    sa.Column("workloads", _Document, nullable=False),
)

# Changes of one workload of one report type (:mod:`benchlab.results.findings`), the campaigns that
# show each, and what people said of it, in the order of saying. `key` is a hash of what the first
# campaign compared, so that two writers cannot record a change twice; each link to a campaign has
# one of each side that it compared. `campaign` of an entry is the
# one that showed the change again, or gone; of what people said it is null.
FINDINGS = sa.Table(
    "findings",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("report", _Key, nullable=False, index=True),
    sa.Column("workload", _Key, nullable=False),
    sa.Column("direction", sa.String(8), nullable=False),
    sa.Column("design", sa.String(16), nullable=False),
    sa.Column("key", sa.String(64), nullable=False, unique=True),
)
FINDING_CAMPAIGNS = sa.Table(
    "finding_campaigns",
    METADATA,
    sa.Column("finding", sa.Integer, sa.ForeignKey("findings.id"), primary_key=True),
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("baseline", sa.String(64), nullable=False),
    sa.Column("candidate", sa.String(64), nullable=False),
)
FINDING_ENTRIES = sa.Table(
    "finding_entries",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("finding", sa.Integer, sa.ForeignKey("findings.id"), nullable=False, index=True),
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("by", sa.String(255), nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("note", _Document, nullable=False),
    sa.Column("link", sa.String(500), nullable=False),
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id")),
)

# People's remarks on a campaign.
REMARKS = sa.Table(
    "remarks",
    METADATA,
    sa.Column("campaign", _Key, sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("note", _Document, nullable=False),
    sa.Column("tags", _Document, nullable=False),
)
# Results of long computations over all this (:mod:`benchlab.results.kept`). `name` is a campaign's
# id, or names whatever else a document is about.
KEPT = sa.Table(
    "kept",
    METADATA,
    sa.Column("name", _Key, primary_key=True),
    sa.Column("part", sa.String(32), primary_key=True),
    sa.Column("seal", sa.String(64), nullable=False),
    sa.Column("document", _Document, nullable=False),
)

# The defaults of a MySQL or MariaDB server may be three-byte characters and case-insensitive ids.
TABLE_OPTIONS = {
    f"{dialect}_{name}": value
    for dialect in ("mysql", "mariadb")
    for name, value in (("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}
for _table in METADATA.tables.values():
    _table.dialect_kwargs.update(TABLE_OPTIONS)


def campaign_row(campaign: Campaign) -> dict[str, Any]:
    """A campaign as a row of :data:`CAMPAIGNS`."""
    return {
        "id": campaign.id,
        "report": campaign.plan.report,
        "state": campaign.state,
        "origin": campaign.origin,
        "engine_reason": as_json(campaign.engine_reason),
        "started_at": campaign.started_at.isoformat(),
        "ended_at": campaign.ended_at.isoformat() if campaign.ended_at else None,
        "plan": as_json(campaign.plan.to_json()),
        "spec": as_json(campaign.report_type.model_dump(mode="json")),
        "environment": as_json(campaign.environment),
        "facts": as_json({side: asdict(facts) for side, facts in campaign.facts.items()}),
        "planned_for": campaign.planned_for.isoformat() if campaign.planned_for else None,
    }


def campaign_of(row: Any) -> Campaign:
    """The inverse of :func:`campaign_row`.

    Raises:
        StoreError: its report type, plan or facts cannot be read; names each field.
    """
    name = f"campaign {row.id}: its"
    with reading(f"{name} report type"):
        report_type = _REPORT_TYPE.validate_python(json.loads(row.spec))
    with reading(f"{name} plan"):
        plan = Plan.from_json(json.loads(row.plan))
    with reading(f"{name} facts"):
        facts = _FACTS.validate_json(row.facts)
    with reading(f"{name} row"):
        return Campaign(
            id=row.id,
            plan=plan,
            report_type=report_type,
            engine_reason=_SAID.validate_json(row.engine_reason),
            origin=row.origin,
            state=_STATE.validate_python(row.state),
            started_at=moment(row.started_at),
            ended_at=None if row.ended_at is None else moment(row.ended_at),
            environment=TEXTS.validate_json(row.environment),
            facts=facts,
            planned_for=None if row.planned_for is None else moment(row.planned_for),
        )


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn an error in reading a damaged cell, or another version's, into one that names it.

    Example:
        ``with reading("campaign c1: its plan"): json.loads(row.plan)``

    Raises:
        StoreError: in place of what the body raises.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = "; ".join(map(str, faults(error)))
        raise StoreError(
            f"{what} cannot be read; use the Benchlab that measured it: {why}"
        ) from error


def moment(text: str) -> datetime:
    """Parse a stored time. Raises ValueError if it is no time, or has no time zone."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return found


def failure_of(campaign: str, text: str | None) -> Failure | None:
    """Parse the column ``failure`` of a row of :data:`CAMPAIGNS`."""
    with reading(f"campaign {campaign}: its failure"):
        return None if text is None else _FAILURE.validate_json(text)


def summary_row(campaign: Campaign) -> dict[str, Any]:
    """A campaign as a row of :data:`SUMMARIES`."""
    plan = campaign.plan
    return {
        "campaign": campaign.id,
        "engine": plan.engine,
        **{side: plan.sides[side].label if side in plan.sides else None for side in SIDES},
        "measures_noise": campaign.is_aa,
        "canary_pct": campaign.plan.slowdown_pct if campaign.is_canary else None,
        "workloads": as_json(plan.workloads_in_order),
    }


def summary_of(row: Any, verdicts: Iterable[Any]) -> CampaignSummary:
    """A campaign's summary, from the columns of its row and summary, and its verdicts' rows.

    Raises:
        StoreError: it cannot be read; names each field.
    """
    labels = {side: getattr(row, side) for side in SIDES}
    failure = failure_of(row.id, row.failure)
    with reading(f"campaign {row.id}: its summary"):
        return _SUMMARY.validate_python(
            {
                **row._mapping,
                "versions": {side: label for side, label in labels.items() if label is not None},
                "workloads": NAMES.validate_json(row.workloads),
                "started_at": moment(row.started_at),
                "ended_at": None if row.ended_at is None else moment(row.ended_at),
                "verdicts": [{name: getattr(one, name) for name in _VERDICT} for one in verdicts],
                "failure": failure,
            }
        )


def trial_row(result: TrialResult) -> dict[str, Any]:
    """A trial as a row of :data:`TRIALS`, without its key and definitions."""
    gates = result.gates
    rest = {
        "gates": {
            "status": "".join(_STATUSES[gate.status] for gate in gates),
            "observed": [gate.observed for gate in gates],
        },
        "phases": result.phases,
        "host_figures": [asdict(host) for host in result.host_figures],
    }
    return {
        "valid": result.valid,
        "planned": as_json(asdict(result.trial)),
        "reasons": as_json(result.reasons),
        "adopted": result.adopted,
        "started_at": result.started_at.isoformat(),
        "ended_at": result.ended_at.isoformat(),
        "raw": result.raw,
        "series": result.series,
        "hosts": result.hosts,
        "counts": result.counts,
        "samples": as_json({sample.metric: sample.value for sample in result.samples}),
        "packed": zlib.compress(as_json(rest).encode(errors="replace")),
    }


def definitions_row(result: TrialResult) -> dict[str, str]:
    """What a trial's figures are of, as a row of :data:`DEFINITIONS` without its campaign."""
    gates = (asdict(gate) for gate in result.gates)
    document = as_json(
        {
            "units": {sample.metric: sample.unit for sample in result.samples},
            "gates": [{name: gate[name] for name in _OF_GATE} for gate in gates],
        }
    )
    return {"id": sha256(document.encode()).hexdigest(), "document": document}


def trial_of(row: Mapping[str, Any], definitions: Mapping[str, Any]) -> TrialResult:
    """A trial from its row.

    Args:
        definitions: the documents of its campaign's definitions, by id.

    Raises:
        StoreError: it cannot be read; names each field.
    """
    with reading(f"campaign {row['campaign']}: its trial {row['trial']}"):
        of_trial, rest = definitions[row["definitions"]], _unpacked(row["packed"])
        samples, gates = json.loads(row["samples"]).items(), rest["gates"]
        judged = zip(of_trial["gates"], gates["status"], gates["observed"], strict=True)
        units = of_trial["units"]
        return _TRIAL.validate_python(
            {
                **row,
                **rest,
                "trial": json.loads(row["planned"]),
                "reasons": json.loads(row["reasons"]),
                "samples": [
                    {"metric": metric, "value": value, "unit": units[metric]}
                    for metric, value in samples
                ],
                "gates": [
                    {**gate, "status": _WRITTEN[status], "observed": observed}
                    for gate, status, observed in judged
                ],
            }
        )


def _unpacked(packed: bytes) -> dict[str, Any]:
    try:
        return from_json(zlib.decompress(packed))  # type: ignore[no-any-return]
    except zlib.error as error:
        raise ValueError(f"packed: {error}") from error


def as_json(value: object) -> str:
    """The JSON text of a document column: a message becomes ``{"id": "...", "values": []}``."""
    return json.dumps(value, ensure_ascii=False, default=asdict)
