"""What limits trust in the figures: repeats, exclusions, missing trials, failed gates.

Example:
    ``quality_of(campaign, comparison, results, english()).repeated_pairs`` is 0 on a quiet machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.usable_trials import Exclusion
from benchlab.language import Language, side_name
from benchlab.language.names import clauses, items, plain, title_of
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign, Condition, GateKind, GateResult, Moment, TrialResult


@dataclass(frozen=True)
class GateTally:
    """A gate's outcomes over all executed trials (used or not), cells or workloads."""

    gate: str
    kind: GateKind
    sentence: str
    passed: int
    failed: int
    not_evaluated: int


@dataclass(frozen=True)
class Repeat:
    """A block measured more than once; ``reasons`` say why earlier attempts did not count."""

    round: int
    title: str
    attempts: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Tally:
    """Errors or reconnects that clients count, over the trials whose figures are used.

    Attributes:
        reporting: how many trials report the count.
        total: None if no trial reports it.
        trials: those with a count above zero, by id.
    """

    reporting: int
    total: float | None
    trials: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Symptom:
    """A failed gate of class symptom.

    Attributes:
        places: by side, the trials or cells in which it failed.
        workloads: for a gate over all trials of a workload, the workloads in which it failed.
    """

    gate: str
    sentence: str
    places: dict[Side, tuple[str, ...]]
    workloads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quality:
    """What limits trust in the figures; ``reconnects`` is None if no client counts them."""

    planned: int
    executed: int
    used: int
    repeats: tuple[Repeat, ...]
    repeated_pairs: int
    excluded: tuple[Exclusion, ...]
    missing: tuple[str, ...]
    gates: tuple[GateTally, ...]
    symptoms: tuple[Symptom, ...]
    errors: Tally
    reconnects: Tally | None


def quality_of(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    language: Language,
) -> Quality:
    """Collect what limits trust in a campaign's figures."""
    excluded = {(e.trial, e.attempt) for e in comparison.excluded}
    used = [r for r in results if (r.trial.id, r.attempt) not in excluded]
    return Quality(
        planned=len(campaign.wanted.trials),
        executed=len(results),
        used=len(used),
        repeats=_repeats(results, language),
        repeated_pairs=comparison.repeated_pairs,
        excluded=tuple(
            Exclusion(plain(e.trial), e.attempt, tuple(map(plain, language.texts(e.reasons))))
            for e in comparison.excluded
        ),
        missing=comparison.missing,
        gates=tally_gates(comparison.all_gates, language),
        symptoms=_symptoms(comparison, used, language),
        errors=_tally(used, "errors"),
        reconnects=_tally(used, "reconnects") if _counts(results, "reconnects") else None,
    )


def _symptoms(
    comparison: Comparison, used: Iterable[TrialResult], language: Language
) -> tuple[Symptom, ...]:
    """Failed symptoms of the trials whose figures are used, of their cells, and of workloads."""

    def cell(workload: str, threads: int) -> str:
        return language.say("quality-cell", workload=title_of(workload), threads=str(threads))

    seen = [
        *((r.trial.side, r.trial.id, r.gates) for r in used),
        *((c.side, cell(c.workload, c.threads), c.gates) for c in comparison.cells),
    ]
    found: dict[str, tuple[str, dict[Side, list[str]]]] = {}
    for side, place, gates in seen:
        for gate in gates:
            if gate.kind == "symptom" and gate.status == "fail":
                _, places = found.setdefault(gate.gate, (_sentence(gate, language), {}))
                places.setdefault(side, []).append(plain(place))
    of_campaign: dict[str, tuple[str, dict[str, None]]] = {}
    for checked in comparison.checks:
        for gate in checked.gates:
            if gate.status == "fail":
                _, workloads = of_campaign.setdefault(gate.gate, (_sentence(gate, language), {}))
                workloads[title_of(checked.workload)] = None
    return (
        *(
            Symptom(gate, sentence, {side: tuple(places[side]) for side in SIDES if side in places})
            for gate, (sentence, places) in found.items()
        ),
        *(Symptom(gate, said, {}, tuple(on)) for gate, (said, on) in of_campaign.items()),
    )


def _counts(results: Sequence[TrialResult], metric: str) -> bool:
    """Whether any trial has a sample of the metric, even without a value; True without trials."""
    return not results or any(s.metric == metric for r in results for s in r.samples)


def _repeats(results: Iterable[TrialResult], language: Language) -> tuple[Repeat, ...]:
    by_pair: dict[tuple[int, str], list[TrialResult]] = {}
    for result in results:
        by_pair.setdefault(result.trial.pair, []).append(result)
    repeats = []
    for (number, workload), members in by_pair.items():
        last = max(result.attempt for result in members)
        reasons = (
            f"{result.trial.id}: {plain(language.text(reason))}"
            for result in members
            if result.attempt < last
            for reason in result.reasons
        )
        if last > 1:
            repeats.append(Repeat(number, title_of(workload), last, tuple(dict.fromkeys(reasons))))
    return tuple(repeats)


def _tally(used: Iterable[TrialResult], metric: str) -> Tally:
    values = [(r.trial.id, v) for r in used if (v := r.value(metric)) is not None]
    return Tally(
        reporting=len(values),
        total=sum(v for _, v in values) if values else None,
        trials=tuple((trial, v) for trial, v in values if v > 0),
    )


def tally_gates(gates: Iterable[GateResult], language: Language) -> tuple[GateTally, ...]:
    """Count each gate's outcomes.

    Where a gate's sentence differs between trials, that of a failure is used.
    """
    by_gate: dict[str, list[GateResult]] = {}
    for result in gates:
        by_gate.setdefault(result.gate, []).append(result)
    return tuple(_gate_tally(gate, found, language) for gate, found in by_gate.items())


def _gate_tally(gate: str, found: list[GateResult], language: Language) -> GateTally:
    counts = Counter(result.status for result in found)
    preferred = next(one for one in ("fail", "pass", "not evaluated") if counts[one])
    said = next(result for result in found if result.status == preferred)
    return GateTally(
        gate=gate,
        kind=found[0].kind,
        sentence=_sentence(said, language),
        passed=counts["pass"],
        failed=counts["fail"],
        not_evaluated=counts["not evaluated"],
    )


def _sentence(gate: GateResult, language: Language) -> str:
    return plain(language.text(gate.sentence))


# Whether the datasets met their consistency conditions, and when that was checked

_MOMENTS: tuple[Moment, ...] = ("load", "last trial")


@dataclass(frozen=True)
class Consistency:
    """Whether the datasets met their consistency conditions.

    Attributes:
        sentences: one for both sides if their outcomes agree, else one for each.
        moments: when at least one side was checked: after ``load``, after the ``last trial``.
    """

    sentences: tuple[str, ...]
    moments: tuple[Moment, ...]


def consistency_of(campaign: Campaign, language: Language) -> Consistency | None:
    """The outcome of a campaign's consistency checks; None where the dataset has no conditions."""
    if campaign.report_type.dataset.check_s is None:
        return None
    found = {side: _found(campaign, side) for side in campaign.plan.sides}
    texts = {side: _text(of_side, language) for side, of_side in found.items()}
    if len(set(texts.values())) == 1:
        sentences: tuple[str, ...] = (
            language.say("consistency-both", told=next(iter(texts.values()))),
        )
    else:
        sentences = tuple(
            language.say("consistency-side", side=side_name(side), told=text)
            for side, text in texts.items()
        )
    checked = {moment for of_side in found.values() for moment, seen in of_side.items() if seen}
    return Consistency(sentences, tuple(moment for moment in _MOMENTS if moment in checked))


def _found(campaign: Campaign, side: Side) -> dict[Moment, Sequence[Condition]]:
    facts = campaign.facts.get(side)
    return {moment: facts.consistency.get(moment, ()) if facts else () for moment in _MOMENTS}


def _text(found: Mapping[Moment, Sequence[Condition]], language: Language) -> str:
    """The outcomes as text; moments with the same outcome share a clause."""
    moments: dict[str, list[Moment]] = {}
    for moment, conditions in found.items():
        moments.setdefault(_outcome(conditions, language), []).append(moment)
    said = []
    for outcome, after in moments.items():
        when = "both" if len(after) > 1 else after[0].replace(" ", "-")
        said.append(language.say(f"consistency-after-{when}", outcome=outcome))
    return clauses(said, language)


def _outcome(conditions: Sequence[Condition], language: Language) -> str:
    if not conditions:
        return language.say("consistency-unchecked")
    violated = [condition for condition in conditions if condition.violations]
    if not violated:
        names = items((plain(condition.clause) for condition in conditions), language)
        return language.say("consistency-hold", count=len(conditions), conditions=names)
    said = (
        language.say(
            "consistency-violations",
            condition=plain(condition.clause),
            sentence=plain(condition.sentence),
            violations=condition.violations,
        )
        for condition in violated
    )
    return language.say(
        "consistency-violated",
        violated=len(violated),
        count=len(conditions),
        each=clauses(said, language),
    )
