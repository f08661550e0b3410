"""What becomes a plan: a ``Request``, made ``Versioned``, then ``Resolved``.

Only :mod:`benchlab.campaign.resolving` makes a ``Resolved``; it alone reads files and asks servers.

Example:
    ``make(Resolver(home).resolve(Request(spec, date(2024, 5, 1))), "c1")`` is a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from benchlab.language import Message, Said
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.fields.schedule import ORDINARY, Turn
from benchlab.plan.last_measured import Measured
from benchlab.plan.metric import Metric
from benchlab.plan.pricing import PriceList
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.steps import NOTHING_KNOWN, Basis
from benchlab.plan.topology import Topology


@dataclass(frozen=True)
class Compared:
    """A campaign of a ``design: watch`` that is planned, and will be measured by then.

    Attributes:
        at: its moment.
        is_bridge: whether it compares two anchors.
    """

    at: datetime
    engine: str
    baseline: SideSpec
    candidate: SideSpec
    is_bridge: bool


@dataclass(frozen=True)
class Request:
    """What a person, a schedule or a backfill asks for.

    Attributes:
        spec: the report type, changed by the form or the command line; checked.
        on: the day as of which its version rules apply.
        turn: what the schedule wants of the moment.
        measured: what the report type has measured, by engine, for rules such as ``last good``;
            None: the store is asked.
        planned: what a backfill will have measured before.
    """

    spec: ReportSpec
    on: date
    turn: Turn = ORDINARY
    measured: Measured | None = None
    planned: Sequence[Compared] = ()


@dataclass(frozen=True)
class Versioned:
    """A request whose sides have versions, and builds with hashes.

    Attributes:
        spec: with a version on each side that may be deployed.
        engine, reason: the engine that is deployed, and why this one.
        notes: which rule named which version; empty where there was no rule.
        unasked: questions to mirrors and servers that were not asked, a sentence each.
    """

    spec: ReportSpec
    on: date
    engine: str
    reason: Said
    notes: tuple[Message, ...] = ()
    unasked: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Resolved(Versioned):
    """Everything that a plan is made from.

    Attributes:
        can: what its target can do.
        read_only: the workloads that do not change the data.
        metrics: those that its client prints for each trial.
        topology: None on one machine, and where the servers exist already.
        prices: None where nothing is rented.
        basis: what the estimates rest on.
        warnings: what a reader should know before it is run.
        undecided: what a person has to decide before it can be run, a sentence each.
    """

    can: Capabilities = field(kw_only=True)
    read_only: frozenset[str] = field(kw_only=True)
    metrics: tuple[Metric, ...] = field(kw_only=True)
    topology: Topology | None = None
    prices: PriceList | None = None
    basis: Basis = NOTHING_KNOWN
    warnings: tuple[Message, ...] = ()
    undecided: tuple[Said, ...] = ()
