"""The sentences of a report, as plain text; each format escapes them its own way.

Every sentence is made from data, and what it claims from the verdict alone.
"""

from __future__ import annotations

from datetime import UTC, datetime

from benchlab.report import figures as tables_of
from benchlab.report import numbers
from benchlab.report.model import Report, ReportSide, Section
from benchlab.report.numbers import MISSING
from benchlab.report.result_quality import Quality, Tally
from benchlab.results import GateKind

_SETTINGS = "variables and configuration items"


def title(report: Report) -> str:
    """The report's title, in the form of the published ones."""
    client = f" {report.client}" if report.client else ""
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    versions = f"{candidate.label} vs. {baseline.label}"
    if report.aa:
        versions = f"{baseline.version} against itself (A/A)"
    return f"{report.engine_title}{client} Performance Test Report -- {versions}"


def subject(report: Report) -> str:
    """What was compared, and with which tool."""
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    tool = f" with {report.client}" if report.client else ""
    fleet = report.fleet
    where = f" on {fleet.total} {'EC2 ' * fleet.rented}hosts" if fleet else ""
    if report.aa:
        return (
            f"Both sides are {report.engine_title} {baseline.version}, deployed and loaded twice: "
            f"an A/A campaign{tool}{where}, which measures the noise of the measurement and says "
            "nothing about another version."
        )
    if report.slowdown_pct:
        return (
            f"{report.engine_title} {candidate.version} (candidate), slowed down by "
            f"{numbers.limit(report.slowdown_pct)} on purpose, was measured{tool}{where} against "
            f"{baseline.version} (baseline), to see whether Benchlab finds a slowdown of that size."
            " The verdicts say nothing about the candidate's version."
        )
    return (
        f"{report.engine_title} {candidate.label} (candidate) was measured{tool}{where} against "
        f"{baseline.label} (baseline): how much does throughput change, and can the figure be "
        "trusted?"
    )


def summary(report: Report) -> str:
    """All headlines in one line, for front matter and page descriptions."""
    lead = "A/A campaign, both sides alike: it measures noise. " if report.aa else ""
    if report.slowdown_pct:
        lead = f"Candidate slowed down by {numbers.limit(report.slowdown_pct)} on purpose. "
    return lead + " ".join(headline(report, section) for section in report.sections)


def headline(report: Report, section: Section) -> str:
    """One workload in one short sentence: verdict, estimate and interval."""
    return f"{section.title}: {verdict(report, section)}, {figures(report, section)}."


def verdict(report: Report, section: Section) -> str:
    """The verdict in one or two words; in an A/A campaign, a change is a false alarm."""
    word = section.figures.verdict
    return f"{word} (false alarm)" if report.aa and is_change(section) else word


def is_change(section: Section) -> bool:
    """Whether the verdict claims a change."""
    return section.figures.verdict in ("regression", "improvement")


def figures(report: Report, section: Section) -> str:
    """The estimate with its interval."""
    limit = report.threshold_pct
    estimate = numbers.estimate(section.figures.estimate_pct, limit)
    if section.figures.estimate_pct is None:
        return f"estimate {MISSING}"
    if section.figures.ci95_pct is None:
        return f"estimate {estimate} without an interval"
    return f"estimate {estimate} (95% interval {numbers.interval(section.figures.ci95_pct, limit)})"


def arithmetic(section: Section) -> str:
    """The mean that published reports print."""
    mean = numbers.change(section.figures.arithmetic_mean_pct)
    return f"arithmetic mean of the per-thread percentages {mean}"


def outcome(report: Report, section: Section) -> str:
    """What the campaign shows for one workload, and why."""
    found = section.figures
    limit, metric = numbers.limit(report.threshold_pct), tables_of.display(section).name
    baseline, candidate = (report.sides[side].label for side in ("baseline", "candidate"))
    because = why(report, section)
    # Published documents of TPC-C print an arithmetic mean, so that each has to be called by name.
    kind = "geometric mean, " if found.metric == "tpmc" else ""
    interval = (
        f"{kind}95% interval {numbers.interval(found.ci95_pct, report.threshold_pct)}, "
        f"adjusted p {numbers.p_value(found.p_adjusted)}"
    )
    if is_change(section):
        assert found.estimate_pct is not None  # noqa: S101 - a change has an estimate
        how = "improved" if found.verdict == "improvement" else "reduced"
        size = numbers.size(found.estimate_pct, report.threshold_pct)
        note = f" Note: {because}." if because else ""
        alarm = " Both sides are the same version, so this is a false alarm." if report.aa else ""
        return (
            f"The {section.title} {metric} of {candidate} is {how} by {size} against {baseline} "
            f"({interval}).{alarm}{note}"
        )
    if found.verdict == "equivalent":
        note = f" Note: {because}." if because else ""
        return (
            f"The {section.title} {metric} of {candidate} and {baseline} is equivalent: the "
            f"90% interval of the change lies within ±{limit}; "
            f"{figures(report, section)}.{note}"
        )
    if found.verdict == "unstable":
        return (
            f"{section.title} is unstable and no conclusion is drawn: {because}; "
            f"{figures(report, section)}."
        )
    reasons = f" ({because})" if ":" in because else f": {because}"
    return (
        f"{section.title} is inconclusive. No change of {limit} or more was shown, and none was "
        f"ruled out{reasons}; {figures(report, section)}."
    )


def why(report: Report, section: Section) -> str:
    """The reasons of a verdict, where it has any; else nothing."""
    drift = (
        "the sides were measured one after the other, so that a drift of the hosts is not told "
        "apart from the version"
    )
    return "; ".join((*section.figures.reasons, *[drift] * (report.placement == "sequential")))


def rounds(report: Report, section: Section) -> str | None:
    """Which rounds the figures are from, where not all of them are complete."""
    used = section.figures.rounds_used
    if used == report.rounds:
        return None
    return (
        f"The estimate is from the {used} of {report.rounds} rounds that are complete; a row of "
        "the table is from the rounds in which both sides have a valid trial of it."
    )


def client(report: Report, section: Section) -> tuple[str, ...]:
    """Which client made the figures, where there are several whose figures differ."""
    if section.figures.metric != "tpmc":
        return ()
    made = report.client_version or f"a client that is not recorded ({MISSING})"
    return (
        (
            f"These figures were made by {made}. Figures of different clients must not be compared "
            "with each other."
        ),
        (
            "tpmC is the number of New Order transactions a minute, without TPC-C's keying and "
            "think times and without an audit: it compares the two sides, and is no result in the "
            "sense of the TPC."
        ),
    )


def details(report: Report, section: Section) -> str:
    """How far the figures of a section's second table can be trusted."""
    found = tables_of.display(section)
    kept = (
        f"{found.details_title} at each thread count: geometric means of the rounds' percentiles. "
        "Of them p95 has a verdict of its own, above."
    )
    if report.client_program not in ("tiup", "go-tpc"):
        return kept
    return (
        f"{kept} go-tpc's percentiles are coarse: it counts latencies in steps of 0.5 ms up to "
        "17 ms and of 3% to 6% above, and none above 16 s."
    )


def quality(report: Report) -> tuple[str, ...]:
    """What was measured, repeated, left out and reported by the clients."""
    found = report.quality
    return (
        f"Trials: {found.planned} planned, {found.executed} executed, {found.used} used.",
        _repeats(found),
        _missing(found),
        _client_count("Errors ignored by the client", found.errors),
        *(
            [_client_count("Reconnects of the client", found.reconnects)]
            if found.reconnects
            else ()
        ),
        *(report.consistency.sentences if report.consistency else ()),
    )


def gates(report: Report, kind: GateKind) -> str:
    """How the gates of a class came out, counted by gate."""
    found = report.gates(kind)
    failed = sum(gate.failed > 0 for gate in found)
    unseen = sum(gate.passed + gate.failed == 0 for gate in found)
    passed = len(found) - failed - unseen
    return f"{passed} passed, {failed} failed, {unseen} never evaluated"


def variables(report: Report) -> str:
    """Which effective variables differ though nobody asked, in one sentence."""
    found = report.variables
    if not found.known:
        return (
            f"Effective variables: {MISSING}; whether the sides differ in more than was asked "
            "is not known."
        )
    only = " and ".join(f"{len(found.only[side])} only the {side} has" for side in found.only)
    return (
        f"Of {found.compared} effective {_SETTINGS if report.servers else 'variables'} that both "
        f"sides have, {len(found.changed)} "
        f"differ{'s' * (len(found.changed) == 1)} though the report type does not ask for "
        "it (changed defaults, as a rule); "
        f"{only}. {found.trivial} that differ between any two servers (version, ports, paths, "
        "identity) are left out."
    )


def settings(report: Report, count: int) -> str:
    """So many of what the servers tell of how they are set."""
    if not report.servers:
        return f"{count} variable{'s' * (count != 1)}"
    return f"{count} {'variable or configuration item' if count == 1 else _SETTINGS}"


def asked_alike(report: Report) -> str | None:
    """The variables that were set alike and differ nevertheless."""
    names = [change.name for change in report.variables.changed if change.asked]
    return f"Set alike on both sides, yet different: {', '.join(names)}." if names else None


def software(side: ReportSide) -> str:
    """What runs on a side: the version, and what the server says of itself."""
    if side.server is None or side.server == side.version:
        return side.version
    return f"{side.version} (server: {side.server})"


def when(value: datetime | None) -> str:
    """A point in time, in UTC."""
    return MISSING if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def lasted(report: Report) -> str:
    """How long the campaign took."""
    return numbers.duration(report.ended_at - report.started_at if report.ended_at else None)


def _repeats(found: Quality) -> str:
    if not found.repeats:
        return "Pairs of blocks measured again: none."
    each = "; ".join(
        f"{repeat.title} in round {repeat.round}, measured {repeat.attempts} times"
        + (f" ({'; '.join(repeat.reasons)})" if repeat.reasons else "")
        for repeat in found.repeats
    )
    return f"Pairs of blocks measured again ({found.repeated_pairs}): {each}."


def _missing(found: Quality) -> str:
    if not found.missing:
        return "Planned trials without a valid result: none."
    return (
        f"Planned trials without a valid result ({len(found.missing)}): {', '.join(found.missing)}."
    )


def _client_count(what: str, tally: Tally) -> str:
    if tally.total is None:
        return f"{what}: {MISSING}, no trial reports them."
    over = f"in {tally.reporting} trials that report them"
    if not tally.trials:
        return f"{what}: none {over}."
    each = ", ".join(f"{trial} {numbers.whole(count)}" for trial, count in tally.trials)
    return f"{what}: {numbers.whole(tally.total)} {over} ({each})."
