"""The sentences on how it was measured and how to read the outcome, as plain text."""

from __future__ import annotations

from collections.abc import Callable

from benchlab.decision import ALPHA
from benchlab.report import numbers, setting, wording
from benchlab.report.model import Report, ReportSide
from benchlab.report.numbers import MISSING

_RESTORE = {
    "every_trial": "Before every trial the side's data are restored from its snapshot.",
    "after_writes": "Before a trial the side's data are restored from its snapshot if anything "
    "was written since the last restore.",
    "per_workload": "Before each block the side's data are restored from its snapshot; the "
    "trials within a block follow on each other's data.",
    "never": "The data are never restored: each trial runs on what the trials before it left.",
}


def notes(report: Report) -> tuple[str, ...]:
    """What limits the conclusions because of where and on what was measured."""
    found = []
    if report.target == "local":
        cores = report.machine.get("cores")
        shared = f"the {cores} cores of one machine" if cores else "one machine"
        found.append(
            f"Client, load balancer and server share {shared}: the figures compare the two "
            "sides with each other, and with nothing measured elsewhere."
        )
    if report.engine_caveat:
        found.append(report.engine_caveat)
    if report.fleet is not None:
        found += setting.notes(report, report.fleet)
    found.append(f"Engine {report.engine}: {report.engine_reason or MISSING}.".replace("..", "."))
    return tuple(found)


def steps(report: Report) -> tuple[str, ...]:
    """The test plan, as it was carried out."""
    threads = ", ".join(str(count) for count in report.threads)
    seconds = " or ".join(f"{count}" for count in report.seconds) or MISSING
    warm_up = (
        f"warm-up time {MISSING}, "
        if report.warmup_seconds is None
        else f"warm up for {report.warmup_seconds} s (not counted), "
        if report.warmup_seconds
        else ""
    )
    cold = "" if report.warmup_seconds != 0 else ", without a warm-up"
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    deployed = f"{report.engine_title} {baseline.version} (baseline) and " + (
        "the same once more (candidate)" if report.aa else f"{candidate.version} (candidate)"
    )
    repeat = f"at most {report.repeat_limit} more times" if report.repeat_limit else "not again"
    on_fleet = report.fleet is not None
    where = (
        f"{'with TiUP ' * ('tiup' in report.software)}on the same hosts, each as a cluster with "
        "its own directories and ports"
        if on_fleet
        else "side by side, each with its own data directory and port"
    )
    start = (
        "start the cluster, wait until every server answers and the load balancer reports all "
        f"{setting.SQL_SERVERS} up"
        if on_fleet
        else "start the server, wait until it answers and the load balancer reports it up"
    )
    restore = _RESTORE.get(report.restore or "", f"Restore policy: {MISSING}.")
    return (
        f"Deploy {deployed} {where}; only one runs at a time.",
        " ".join(filter(None, (_fill(report), contents(report)))),
        "Run ANALYZE on every table.",
        *_consistency(report),
        "Stop each side and take a snapshot of its data"
        + (", on every host that holds some." if on_fleet else "."),
        *_slowdown(report),
        _order(report, threads),
        f"{restore} {setting.AFTER_RESTORE}" if on_fleet and report.restore != "never" else restore,
        (
            f"For each trial: {start}, {warm_up}then run the client through the load balancer for "
            f"{seconds} s{cold}."
        ),
        (
            "Measure a pair of blocks again if a trial in it is invalid, as a whole and "
            f"{repeat}; the first wholly valid attempt counts."
        ),
    )


def contents(report: Report) -> str:
    """Whether the two sides hold the same rows; nothing where that is not known."""
    baseline, candidate = (side.dataset_checksum for side in report.sides.values())
    if baseline is None or candidate is None or baseline == candidate:
        return ""
    if report.client == "TPC-C":
        return (
            "The rows of the two sides are alike in kind, but not in content, as their checksums "
            "tell: TPC-C asks for values at random, and for 5 to 15 lines of each order."
        )
    why = (
        ": sysbench fills its tables at random, and its --rand-seed does not make prepare "
        "repeatable"
        if report.client == "Sysbench"
        else ""
    )
    return (
        "The rows of the two sides are alike in number and kind, but not in content, as their "
        f"checksums tell{why}."
    )


def _fill(report: Report) -> str:
    if report.restored_dataset:
        return (
            f"Restore {report.dataset} into each side from the dataset snapshot of its version; an "
            "earlier campaign loaded them with the client."
        )
    return f"Load {report.dataset} into each side."


def _consistency(report: Report) -> tuple[str, ...]:
    if report.consistency is None or not report.consistency.moments:
        return ()
    when = " and once more after its ".join(
        f"{'the ' * (moment == 'load')}{moment}" for moment in report.consistency.moments
    )
    return (f"Check TPC-C's consistency conditions (clause 3.3.2) on each side, after {when}.",)


def _slowdown(report: Report) -> tuple[str, ...]:
    if not report.slowdown_pct:
        return ()
    return (
        (
            f"While the candidate is measured, stop its server for {report.slowdown_pct:g}% of the "
            "time, in periods of 20 ms: a slowdown on purpose, to see whether it is found."
        ),
    )


def _order(report: Report, threads: str) -> str:
    rounds = f"Measure {report.rounds} round{'s' * (report.rounds != 1)}"
    if report.placement == "sequential":
        return (
            f"{rounds}, sequentially: all blocks of the baseline, then all of the candidate. In a "
            f"block, one workload is measured at {threads} client threads."
        )
    return (
        f"{rounds}. In a round, each workload is measured on both sides, one block right after "
        f"the other, at {threads} client threads. Which side comes first is balanced over the "
        f"rounds and otherwise random (seed {report.seed})."
    )


def how_to_read(report: Report) -> tuple[str, ...]:
    """The decision rule in six lines."""
    limit, count = numbers.limit(report.threshold_pct), len(report.sections)
    in_turn = (
        "A round measures the two sides right after each other"
        if report.placement != "sequential"
        else "A round sets the two sides against each other, though all of the baseline was "
        "measured before the candidate"
    )
    more = (
        "With one round it is always this: there is nothing to tell a change from noise by."
        if report.rounds == 1
        else "The data do not tell, in either direction; more rounds or longer trials might."
    )
    deployments = ", and what deployments differ by" if report.calibration else ""
    unsound = (
        ", or its dataset did not meet a consistency condition any more after the last trial"
        if report.consistency
        else ""
    )
    return (
        (
            f"{in_turn}; candidate divided by baseline, averaged over the thread counts as a "
            "geometric mean, is the one value it contributes."
        ),
        (
            "The estimate is the geometric mean of these values. The 95% interval (Student's t) "
            f"tells how far they scatter{deployments}: the wider, the less is known."
        ),
        (
            f"Regression or improvement: the estimate is {limit} or more, and p is below {ALPHA:g} "
            f"after Holm's adjustment for {count} workload{'s' * (count != 1)}, which keeps the "
            f"chance of even one false alarm by scatter between rounds at {ALPHA:.0%}. Throughput "
            "and p95 latency are decided apart, each by this rule."
        ),
        (
            f"Equivalent: the 90% interval lies within ±{limit}. Unstable: trials are missing, or "
            f"symptoms show, on one side only{unsound}, so its figures cannot be taken at their "
            "word."
        ),
        f"Inconclusive: anything else. {more}",
        (
            "Rows per thread count describe and decide nothing, but one that moved against the "
            "rest is named. The arithmetic mean of their "
            "percentages is what published reports print; it gives gains more weight than losses."
        ),
    )


def provenance(report: Report) -> tuple[tuple[str, str], ...]:
    """Where the report comes from, as names and values."""
    return (
        ("Campaign", report.campaign),
        ("Report type", f"{report.report} ({report.spec_title})"),
        ("State", report.state),
        ("Started by", report.origin or MISSING),
        ("Started", wording.when(report.started_at)),
        ("Duration", wording.lasted(report)),
        *((("Planned time and cost", report.estimate),) if report.estimate else ()),
        *((("Topology", report.topology),) if report.topology else ()),
        ("Placement", report.placement)
        if report.placement == "sequential"
        else ("Order seed", str(report.seed)),
        *((("Calibrated by", ", ".join(report.calibration)),) if report.calibration else ()),
        ("Dataset checksum", _checksums(report)),
        ("Rows loaded", _by_side(report, lambda side: numbers.whole(side.rows))),
        ("Benchlab", report.benchlab or MISSING),
    )


def sources(report: Report) -> str:
    """Where the figures behind a figure are."""
    kept = (
        f"The client's raw output is kept for {report.raw_outputs} of "
        f"{report.quality.executed} executed trials, under the path in its column raw, relative "
        "to the root of the results store."
        if report.raw_outputs
        else "No raw output of the client is kept."
    )
    return (
        "trials.csv has one row per executed trial. A figure of one side at one thread count is "
        "the geometric mean over the rows of its workload, side and threads that are used. "
        f"{kept} comparison.csv and report.json have the figures unrounded."
    )


def _checksums(report: Report) -> str:
    return _by_side(report, lambda side: side.dataset_checksum or MISSING)


def _by_side(report: Report, value: Callable[[ReportSide], str]) -> str:
    """A value of both sides; said once where they agree."""
    values = {side.side: value(side) for side in report.sides.values()}
    if len(set(values.values())) == 1:
        shared = next(iter(values.values()))
        return shared if shared == MISSING else f"{shared} (both sides)"
    return ", ".join(f"{side}: {text}" for side, text in values.items())
