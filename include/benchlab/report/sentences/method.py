"""The sentences on how it was measured and how to read the outcome, as plain text."""

from __future__ import annotations

from collections.abc import Callable

from benchlab.analysis.verdict.decision import ALPHA
from benchlab.language import REFERENCE
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.report.model.report import Report, ReportSide
from benchlab.report.sentences import setting, wording


def recorded_texts(report: Report) -> str | None:
    """That what was recorded is in the language it was recorded in, where that is another."""
    return None if report.language.code == REFERENCE else report.language.say("recorded-texts")


def notes(report: Report) -> tuple[str, ...]:
    """What limits the conclusions because of where and on what was measured."""
    say, found = report.language.say, []
    if report.target == "local":
        found.append(say("shared-machine", cores=report.machine.get("cores", "none")))
    if report.engine_caveat:
        found.append(report.engine_caveat)
    if report.fleet is not None:
        found += setting.notes(report, report.fleet)
    reason = (report.engine_reason or MISSING).removesuffix(".")
    found.append(say("engine-chosen", engine=report.engine, reason=reason))
    return tuple(found)


def steps(report: Report) -> tuple[str, ...]:
    """The test plan, as it was carried out."""
    say = report.language.say
    return (
        _deploy(report),
        wording.sentences(filter(None, (_fill(report), contents(report))), report),
        say("step-analyze"),
        *_consistency(report),
        say("step-snapshot", where=_where(report)),
        *_slowdown(report),
        _order(report),
        _restore(report),
        _trial(report),
        say("step-repeat", limit=report.repeat_limit),
    )


def contents(report: Report) -> str:
    """Whether the two sides hold the same rows; nothing where that is not known."""
    baseline, candidate = (side.dataset_checksum for side in report.sides.values())
    if baseline is None or candidate is None or baseline == candidate:
        return ""
    why = {"TPC-C": "contents-tpcc", "Sysbench": "contents-sysbench"}
    return report.language.say(why.get(report.client or "", "contents-differ"))


def _where(report: Report) -> str:
    return "machine" if report.fleet is None else "fleet"


def _deploy(report: Report) -> str:
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    with_tiup = report.fleet is not None and "tiup" in report.software
    return report.language.say(
        "step-deploy",
        engine=report.engine_title,
        baseline=baseline.version,
        candidate="same" if report.aa else candidate.version,
        where="tiup" if with_tiup else _where(report),
    )


def _fill(report: Report) -> str:
    step = "step-restore-dataset" if report.restored_dataset else "step-load"
    return report.language.say(step, dataset=report.dataset)


def _consistency(report: Report) -> tuple[str, ...]:
    if report.consistency is None or not report.consistency.moments:
        return ()
    first, *others = report.consistency.moments
    moments = "both" if others else first.replace(" ", "-")
    return (report.language.say("step-consistency", moments=moments),)


def _slowdown(report: Report) -> tuple[str, ...]:
    if not report.slowdown_pct:
        return ()
    limit = report.numbers.limit(report.slowdown_pct)
    return (report.language.say("step-slowdown", limit=limit),)


def _order(report: Report) -> str:
    step = "step-sequential" if report.placement == "sequential" else "step-interleaved"
    threads = items(map(str, report.threads), report.language)
    return report.language.say(step, rounds=report.rounds, threads=threads, seed=str(report.seed))


def _restore(report: Report) -> str:
    say = report.language.say
    said = say(f"restore-{report.restore.replace('_', '-')}")
    if report.fleet is None or report.restore == "never":
        return said
    return wording.sentences((said, say("after-restore")), report)


def _trial(report: Report) -> str:
    from babel.lists import format_list

    seconds = [str(count) for count in report.seconds] or [MISSING]
    return report.language.say(
        "step-trial",
        where=_where(report),
        warmup=str(report.warmup_seconds or "cold"),
        seconds=format_list(seconds, style="or", locale=report.language.locale),
    )


def how_to_read(report: Report) -> tuple[str, ...]:
    """The decision rule in six lines."""
    say, limit = report.language.say, report.numbers.limit(report.threshold_pct)
    one_round = "-one-round" if report.rounds == 1 else ""
    unstable = say("read-unstable", dataset="checked" if report.consistency else "other")
    return (
        say("read-round", placement=report.placement),
        say("read-estimate", deployments="known" if report.calibration else "unknown"),
        say(
            "read-change",
            limit=limit,
            alpha=f"{ALPHA:g}",
            workloads=len(report.sections),
            level=report.numbers.share(ALPHA, 0),
        ),
        wording.sentences((say("read-equivalent", limit=limit), unstable), report),
        say(f"read-inconclusive{one_round}"),
        say("read-rows"),
    )


def provenance(report: Report) -> tuple[tuple[str, str], ...]:
    """Where the report comes from, as names and values."""
    say = report.language.say
    sequential = report.placement == "sequential"
    told = {
        "campaign": report.campaign,
        "report-type": say(
            "provenance-report-type-value", report=report.report, title=report.spec_title
        ),
        "state": say(f"state-{report.state}"),
        "origin": report.origin or MISSING,
        "started": wording.when(report.language, report.started_at),
        "duration": wording.lasted(report),
        "estimate": report.estimate,
        "topology": report.topology,
        "placement": say("placement-sequential") if sequential else None,
        "seed": None if sequential else str(report.seed),
        "calibration": items(report.calibration, report.language) or None,
        "checksum": _by_side(report, lambda side: side.dataset_checksum or MISSING),
        "rows": _by_side(report, lambda side: report.numbers.whole(side.rows)),
        "benchlab": report.benchlab or MISSING,
    }
    return tuple((say(f"provenance-{n}"), value) for n, value in told.items() if value is not None)


def sources(report: Report) -> str:
    """Where the figures behind a figure are."""
    return report.language.say(
        "sources", kept=report.raw_outputs, executed=report.quality.executed
    )  # fmt: skip


def _by_side(report: Report, value: Callable[[ReportSide], str]) -> str:
    """A value of both sides; said once where they agree."""
    values = {side.side: value(side) for side in report.sides.values()}
    if len(set(values.values())) > 1:
        return report.language.say("of-each-side", **values)
    shared = next(iter(values.values()))
    return shared if shared == MISSING else report.language.say("of-both-sides", value=shared)
