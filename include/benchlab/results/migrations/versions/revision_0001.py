"""The first revision of the store: campaigns, trials, verdicts and remarks.

Until 1.0.0 is tagged, no release has created a store: a change of :mod:`benchlab.results.rows`
changes this file in place. After that, this file is frozen; each change is a new
``revision_<number>.py`` beside it, which names the one before as its ``down_revision``.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Double, Integer, String

revision = "0001"
down_revision = None

DOCUMENT = sa.Text().with_variant(sa.Text(2**32 - 1), "mysql", "mariadb")
PACKED = sa.LargeBinary().with_variant(sa.LargeBinary(2**32 - 1), "mysql", "mariadb")
KEY, TIME, NAME, ADDRESS = String(160), String(40), String(255), String(500)
OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
OPTIONS |= {name.replace("mysql", "mariadb"): value for name, value in OPTIONS.items()}


def _table(name: str, key: tuple[str, ...], *columns: "Column[object] | sa.Constraint") -> None:
    op.create_table(name, *columns, sa.PrimaryKeyConstraint(*key), **OPTIONS)


def _of_campaign(
    name: str, key: tuple[str, ...], *columns: "Column[object] | sa.Constraint"
) -> None:
    campaign = sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"])
    _table(name, key, Column("campaign", KEY, nullable=False), *columns, campaign)


def upgrade() -> None:
    """Make all tables."""
    _table(
        "revisions",
        ("revision",),
        Column("revision", String(32), nullable=False),
        Column("benchlab", TIME, nullable=False),
        Column("at", TIME, nullable=False),
    )
    _table(
        "campaigns",
        ("id",),
        Column("id", KEY, nullable=False),
        Column("report", KEY, nullable=False, index=True),
        Column("state", String(16), nullable=False),
        Column("origin", NAME, nullable=False),
        Column("engine_reason", DOCUMENT, nullable=False),
        Column("started_at", TIME, nullable=False),
        Column("ended_at", TIME),
        Column("plan", DOCUMENT, nullable=False),
        Column("spec", DOCUMENT, nullable=False),
        Column("environment", DOCUMENT, nullable=False),
        Column("facts", DOCUMENT, nullable=False),
        Column("planned_for", TIME),
        Column("failure", DOCUMENT),
    )
    _of_campaign(
        "definitions",
        ("campaign", "id"),
        Column("id", String(64), nullable=False),
        Column("document", DOCUMENT, nullable=False),
    )
    _of_campaign(
        "trials",
        ("campaign", "trial", "attempt"),
        Column("trial", KEY, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("valid", sa.Boolean, nullable=False),
        Column("planned", DOCUMENT, nullable=False),
        Column("reasons", DOCUMENT, nullable=False),
        Column("adopted", sa.Boolean, nullable=False),
        Column("started_at", TIME, nullable=False),
        Column("ended_at", TIME, nullable=False),
        Column("raw", ADDRESS),
        Column("series", ADDRESS),
        Column("hosts", ADDRESS),
        Column("counts", ADDRESS),
        Column("definitions", String(64), nullable=False),
        Column("samples", DOCUMENT, nullable=False),
        Column("packed", PACKED, nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign", "definitions"], ["definitions.campaign", "definitions.id"]
        ),
    )
    op.create_index("trials_by_validity", "trials", ["campaign", "valid"])
    _of_campaign(
        "verdicts",
        ("campaign", "position"),
        Column("position", Integer, nullable=False, autoincrement=False),
        Column("workload", KEY, nullable=False),
        Column("metric", String(60), nullable=False),
        Column("verdict", String(16), nullable=False),
        Column("estimate_pct", Double),
        Column("low_pct", Double),
        Column("high_pct", Double),
        Column("p_adjusted", Double),
        Column("rule", Integer, nullable=False),
    )
    _of_campaign(
        "summaries",
        ("campaign",),
        Column("engine", KEY, nullable=False),
        Column("baseline", ADDRESS),
        Column("candidate", ADDRESS),
        Column("measures_noise", sa.Boolean, nullable=False),
        Column("canary_pct", sa.Double),
        Column("workloads", DOCUMENT, nullable=False),
    )
    _of_campaign(
        "step_times",
        ("campaign", "step", "side"),
        Column("step", String(32), nullable=False),
        Column("side", String(16), nullable=False),
        Column("topology", KEY, nullable=False, index=True),
        Column("engine", KEY, nullable=False),
        Column("seconds", Double, nullable=False),
        Column("size", Double, nullable=False),
        Column("unit", String(16), nullable=False),
    )
    _table(
        "spending",
        ("id",),
        Column("id", KEY, nullable=False),
        Column("report", KEY, nullable=False),
        Column("month", String(7), nullable=False, index=True),
        Column("begun_at", TIME, nullable=False),
        Column("until", TIME, nullable=False),
        Column("ended_at", TIME),
        Column("committed", Double, nullable=False),
        Column("spent", Double, nullable=False),
        Column("region", String(32)),
        Column("vcpus", Integer),
        Column("quotas", DOCUMENT, nullable=False),
    )
    _table(
        "findings",
        ("id",),
        Column("id", Integer, nullable=False),
        Column("report", KEY, nullable=False, index=True),
        Column("workload", KEY, nullable=False),
        Column("direction", String(8), nullable=False),
        Column("design", String(16), nullable=False),
        Column("key", String(64), nullable=False, unique=True),
    )
    _of_campaign(
        "finding_campaigns",
        ("finding", "campaign"),
        Column("finding", Integer, nullable=False),
        Column("baseline", String(64), nullable=False),
        Column("candidate", String(64), nullable=False),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"]),
    )
    _table(
        "finding_entries",
        ("id",),
        Column("id", Integer, nullable=False),
        Column("finding", Integer, nullable=False, index=True),
        Column("state", String(8), nullable=False),
        Column("by", NAME, nullable=False),
        Column("at", TIME, nullable=False),
        Column("note", DOCUMENT, nullable=False),
        Column("link", ADDRESS, nullable=False),
        Column("campaign", KEY),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"]),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"]),
    )
    _of_campaign(
        "remarks",
        ("campaign",),
        Column("note", DOCUMENT, nullable=False),
        Column("tags", DOCUMENT, nullable=False),
    )
    _table(
        "kept",
        ("name", "part"),
        Column("name", KEY, nullable=False),
        Column("part", String(32), nullable=False),
        Column("seal", String(64), nullable=False),
        Column("document", DOCUMENT, nullable=False),
    )
    _table(
        "notices",
        ("key",),
        Column("key", String(64), nullable=False),
        Column("notifier", NAME, nullable=False),
        Column("event", String(32), nullable=False),
        Column("told_at", TIME, nullable=False),
    )
    _table(
        "published_reports",
        ("id",),
        Column("id", KEY, nullable=False),
        Column("source", ADDRESS, nullable=False),
        Column("sha256", String(64), nullable=False),
        Column("imported_at", TIME, nullable=False),
        Column("page", ADDRESS, nullable=False),
        Column("report", DOCUMENT, nullable=False),
    )
