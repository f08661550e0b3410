"""The page on which a reader plans a campaign: its time, cost and sensitivity, as a form changes.

It starts nothing itself.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from benchlab import targets, workloads
from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.engines.counts import THRESHOLD_PCT
from benchlab.errors import BenchlabError, SpecError, StoreError
from benchlab.language import FORM_OF_ONE, Language, Said, load, message, side_name
from benchlab.language.names import items, plain, with_title
from benchlab.language.numbers import Numbers
from benchlab.plan.plan import Plan, make, mean_quiet_minutes, needs_approval
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.resolved import Request
from benchlab.plan.steps import PlanStep, diagnosis_minutes
from benchlab.plan.versions import RULES
from benchlab.results.listing import Chosen
from benchlab.site.next_steps import LIKE
from benchlab.site.page import NoSuchPage, Page, Row, Site, stage
from benchlab.site.trial import campaign_of
from benchlab.studies.sensitivity.proposals import PlanSensitivity, Proposal, plan_sensitivity

PLACE = "plan/"
Asked = Mapping[str, Sequence[str]]
"""A form as sent: all values of each field."""

_NUMBERS = ("rounds", "deployments", "seconds")
_DIAGNOSE = ("on_change", "always", "never")
# How many of the newest releases are suggested for a version.
_SUGGESTED = 30
_LONGEST_FIELD = 200


def plan(site: Site, asked: Asked) -> Page:
    """The page with the form and the figures of its plan.

    Args:
        asked: the form as sent; missing fields are those of the report type.
    """
    return _page(site, asked, "plan.html.j2")


def figures(site: Site, asked: Asked) -> Page:
    """The part with the plan's figures, requested while somebody fills in the form."""
    return _page(site, asked, "plan-figures.html.j2")


def report_of(site: Site, asked: Asked) -> str:
    """The name of the report type that a form asks for, else of the one measured last.

    For a published plan, it is the report type whose DAG runs it. Empty if none exists.
    """
    found = _named(site, _offered(site), asked)
    return found[1].report if found else ""


def chosen(site: Site, asked: Asked) -> tuple[ReportSpec, dict[str, Any]]:
    """The report type or published plan that a form asks for, and the fields it changes.

    Example:
        ``chosen(site, {"report": ["sysbench_local"], "rounds": ["8"]})[1]`` is ``{"rounds": 8}``.

    Raises:
        SpecError: fields are invalid; has a line for each, with what was found in it.
    """
    known = _offered(site)
    if (found := _named(site, known, asked)) is None:
        raise SpecError(site.language.say("site-plan-none"))
    name, spec = _one(asked, "report"), found[1]
    if name and name not in known:
        there = {"report": repr(name), "known": ", ".join(known)}
        raise SpecError(site.language.say("site-plan-no-report", **there))
    base, own = _base(site, asked, spec)
    read = _Reading(asked, site.language)
    changes: dict[str, Any] = {side: version for side in SIDES if (version := _one(asked, side))}
    changes |= {field: read.whole(field) for field in _NUMBERS if _one(asked, field)}
    if text := _one(asked, "threads"):
        changes["threads"] = [
            read.whole("threads", word) for word in text.replace(",", " ").split()
        ]
    named = list(asked.get("workloads", ()))
    if named and set(named) != set(own.as_written):  # the form lists them in the client's order
        changes["workloads"] = named
    if look := _one(asked, "diagnose"):
        changes["diagnose"] = look
    if read.faults:
        raise SpecError(*read.faults, *_faults_of_versions(spec, changes))
    as_is = {**own.model_dump(include={*_NUMBERS, "diagnose"}), "threads": list(own.threads)}
    new = {field: value for field, value in changes.items() if as_is.get(field) != value}
    return spec, {**base, **new}


def _base(site: Site, asked: Asked, spec: ReportSpec) -> tuple[dict[str, Any], ReportSpec]:
    """The fields of the campaign that a form begins with, and the report type with these.

    Raises:
        SpecError: it cannot begin with this campaign.
    """
    if not (named := _one(asked, LIKE)):
        return {}, spec
    try:
        begun = campaign_of(site, named)
    except NoSuchPage as error:
        raise SpecError(*error.args) from error
    changes = overrides.as_measured(site.home, begun)
    is_own = _one(asked, "report") in ("", spec.report)  # and no published plan of its DAG
    if changes is None or begun.plan.report != spec.report or not is_own:
        raise SpecError(message("site-plan-not-like", campaign=named, report=spec.report))
    return changes, overrides.override(spec, changes) if changes else spec


def _faults_of_versions(spec: ReportSpec, changes: Mapping[str, Any]) -> Sequence[Said]:
    """The faults of the versions alone, to report them together with others."""
    try:
        overrides.override(spec, {side: changes[side] for side in SIDES if side in changes})
    except SpecError as error:
        return error.args
    return []


class _Reading:
    """Reads the numbers of a form and collects faults."""

    def __init__(self, asked: Asked, language: Language) -> None:
        self._asked, self._say = asked, language.say
        self.faults: list[str] = []

    def whole(self, field: str, text: str | None = None) -> int:
        """A whole number; if it is invalid or below 1, a fault is added."""
        text = _one(self._asked, field) if text is None else text
        try:
            number = int(text)
        except ValueError:
            self.faults.append(self._say("site-plan-not-whole", field=field, found=repr(text)))
            return 0
        if number < 1:
            self.faults.append(self._say("site-plan-below-one", field=field, found=str(number)))
        return number


@dataclass(frozen=True)
class Figures:
    """A plan's time, cost and sensitivity, as text.

    Attributes:
        faults: lines on why there is no plan; everything else is then empty.
        facts: pairs of the id of a name and a value.
        asks: whether mirrors or servers are still being asked, so that figures may change soon.
        steps: pairs of a step and its duration.
        command: the command line that runs it.
        undecided: lines on why a run would be refused now; none can be started then.
        start, conf: the address that starts a run when posted to, and the values of its form; empty
            if none can be started.
        paused: the address of the DAG that has to be unpaused first; empty if none has.
    """

    faults: tuple[str, ...] = ()
    versions: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    asks: bool = False
    steps: tuple[tuple[str, str], ...] = ()
    command: str = ""
    undecided: tuple[str, ...] = ()
    start: str = ""
    conf: str = ""
    paused: str = ""


def _page(site: Site, asked: Asked, template: str) -> Page:
    form = _form(site, asked)
    return Page(
        PLACE,
        PLACE,
        site.language.say("site-part-plan"),
        template,
        {"form": form, "diagnose": _DIAGNOSE, "figures": _figures(site, asked)},
        form=FORM_OF_ONE if form and len(form["own"]) == 1 else "",
    )


def _offered(site: Site) -> dict[str, ReportSpec]:
    """The report types that the reader may see, then their published plans, by file name.

    Invalid ones are left out; ``benchlab validate`` names them.
    """
    found = {}
    for path in (*report_types.report_files(site.home), *report_types.published_files(site.home)):
        with contextlib.suppress(SpecError):
            spec = report_types.load(path)
            if site.shows(spec.report):
                found[path.stem] = spec
    return found


def _named(
    site: Site, offered: Mapping[str, ReportSpec], asked: Asked
) -> tuple[str, ReportSpec] | None:
    """The entry that a form asks for, else the one measured last, else the first, if any."""
    name = _one(asked, "report")
    if name not in offered:
        newest = site.store.listing.summaries(Chosen(reports=[*offered]), limit=1)
        name = newest[0].report if newest else next(iter(offered), "")
    return (name, offered[name]) if name in offered else None


def _form(site: Site, asked: Asked) -> Row | None:
    """The form's fields and their values; None if there is no report type."""
    known = _offered(site)
    if (found := _named(site, known, asked)) is None:
        return None
    name, spec = found
    base: dict[str, Any] = {}
    with contextlib.suppress(SpecError):  # it is said where the figures would be
        base, spec = _base(site, asked, spec)
    of_client = workloads.by_name()
    can = targets.by_name()[spec.target].can
    compares = len(spec.measured_sides) > 1
    numbers = [one for one in _NUMBERS if one != "deployments" or (compares and can.deploys)]
    text = {field: _one(asked, field) or str(getattr(spec, field)) for field in numbers}
    text["threads"] = _one(asked, "threads") or ", ".join(map(str, spec.threads))
    return {
        "report": name,
        "title": spec.title,
        "reports": tuple(known_as for known_as, one in known.items() if one.report == known_as),
        "published": {
            known_as: one.published.document if one.published else one.title
            for known_as, one in known.items()
            if one.report != known_as
        },
        "text": text | {side: _one(asked, side) or base.get(side, "") for side in SIDES},
        "numbers": numbers,
        "like": _one(asked, LIKE) if base else "",
        "may_not": spec.report if site.starts_at and not site.may_change else "",
        "diagnose": compares and can.administers and (_one(asked, "diagnose") or spec.diagnose),
        "own": {side: _own(spec, side) for side in spec.measured_sides},
        "workloads": tuple(asked.get("workloads", ())) or spec.as_written,
        "offered": tuple(w for w in of_client if of_client[w] is of_client[spec.workloads[0]]),
        "suggestions": _suggestions(site, spec),
    }


def _own(spec: ReportSpec, side: str) -> str:
    found = (getattr(entry, side) for entry in spec.engines.values())
    return ", ".join(plain(one.label) for one in found if one)


def _suggestions(site: Site, spec: ReportSpec) -> tuple[str, ...]:
    """Version rules, then the newest releases of the report type's engines."""
    try:
        releases = report_types.releases_of(site.home, spec)
    except SpecError:
        releases = ()
    newest = [release.version.text for release in reversed(releases)][:_SUGGESTED]
    return (*RULES, *dict.fromkeys(newest))


def _figures(site: Site, asked: Asked) -> Figures:
    try:
        spec, changes = chosen(site, asked)
        name = _one(asked, "report") or spec.report
        wanted = overrides.override(spec, changes) if changes else spec
        request = Request(wanted, site.now.date())
        resolved = Resolver(site.home, site.store, asks=Asks.MACHINE).resolve(request)
        if asks := site.ask is not None and bool(resolved.unasked):
            answer = site.ask(request)
            resolved, asks = answer or resolved, answer is None
        made = make(resolved, spec.report)
        finds = plan_sensitivity(site.home, resolved, made, site.store)
    except StoreError:  # it would tell readers where the store is
        raise
    except BenchlabError as error:
        return Figures(faults=_titled(_lines(error.args, site.language), site.language))
    language = load(site.language.code, FORM_OF_ONE if len(made.sides) == 1 else "")
    chosen_engine = message("site-plan-engine", engine=made.engine, reason=resolved.reason)
    starts = site.may_change and bool(site.starts_at) and not resolved.undecided
    return Figures(
        versions=" vs. ".join(plain(side.label) for side in reversed(made.sides.values())),
        facts=tuple(_facts(site, resolved.spec, made, finds)),
        notes=language.texts((*resolved.notes, chosen_engine, *made.warnings, *resolved.unasked)),
        asks=asks,
        steps=tuple(
            (_step(step, language),
             Numbers(language).duration(timedelta(minutes=step.minutes)))
            for step in made.steps
        ),
        command=shlex.join(overrides.running(name, changes)),
        undecided=_lines(resolved.undecided, language),
        start=site.starts_at.format(report=spec.report) if starts else "",
        conf=json.dumps(_conf(name, spec, changes)) if starts else "",
        paused=site.paused_dag(spec.report) if starts and site.paused_dag else "",
    )  # fmt: skip


def _lines(faults: Sequence[Said], language: Language) -> tuple[str, ...]:
    """Faults as lines; messages are in the reader's language."""
    return tuple(line for said in faults for line in language.text(said).splitlines())


def _titled(faults: Sequence[str], language: Language) -> tuple[str, ...]:
    """Faults with the titles that their fields have in the form."""
    titles = {field: language.say(f"site-plan-{field}-field") for field in (*_NUMBERS, "diagnose")}
    others = (*SIDES, "workloads", "threads")
    titles |= {field: language.say(f"site-plan-{field}") for field in others}
    return tuple(with_title(fault, titles) for fault in faults)


def _step(step: PlanStep, language: Language) -> str:
    """A step as text: ``load (candidate): 4 tables, ...``."""
    name = stage(step.stage, language)
    if step.side:
        side = language.text(side_name(step.side))
        name = language.say("phase-of-side", phase=name, side=side)
    return language.say("site-plan-step", stage=name, what=language.text(step.what))


def _facts(
    site: Site, spec: ReportSpec, made: Plan, finds: PlanSensitivity | None
) -> list[tuple[str, str]]:
    say, numbers = site.language.say, Numbers(site.language)
    facts = [("duration", numbers.duration(timedelta(minutes=made.minutes)))]
    if not made.can.rents:
        facts.append(("cost", say("site-plan-free")))
    elif made.dollars is None:
        facts.append(("cost", say("site-plan-unpriced")))
    else:
        facts.append(("cost", _cost(site, spec, made)))
    if spec.diagnose != "never" and len(made.sides) == len(SIDES) and made.can.administers:
        more = _takes(site, made, diagnosis_minutes(made.minutes))
        facts.append(("diagnosis", say("site-plan-more", takes=more, when=spec.diagnose)))
    facts += _ends(site, made, finds)
    facts.append(("finds", _finds(site, spec, finds)))
    if finds and finds.cheapest:
        facts.append(("cheapest", _cheapest(site, spec, finds.cheapest)))
    facts.append(("trials", numbers.whole(len(made.confirming(()).trials))))
    facts.append(
        ("rounds", say("site-plan-rounds-of", rounds=made.rounds, deployments=made.deployments))
    )
    if made.hosts and made.topology is not None:
        facts.append(("hosts", numbers.whole(len(made.hosts))))
    return facts


def _cost(site: Site, spec: ReportSpec, made: Plan) -> str:
    numbers, say = Numbers(site.language), site.language.say
    cost = say("site-plan-dollars", dollars=numbers.rate(made.dollars, 2))
    if made.most_dollars is not None:
        cost += say("site-plan-at-most", dollars=numbers.rate(made.most_dollars, 2))
    if spec.budget is not None and needs_approval(made, spec.budget):
        cost += say("site-plan-approval")
    return cost


def _ends(site: Site, made: Plan, finds: PlanSensitivity | None) -> Iterator[tuple[str, str]]:
    """What a campaign takes whose design ends it early or late, beside what its plan takes."""
    if made.screening_rounds is not None:
        yield "on-average", _takes(site, made, mean_quiet_minutes(made))
        yield "with-everything", _takes(site, made, made.most_minutes)
    if made.looks:
        if finds and finds.mean_minutes is not None:
            yield "on-average", _takes(site, made, finds.mean_minutes)
        yield "at-the-earliest", _takes(site, made, made.minutes_until(made.looks[0]))


def _takes(site: Site, made: Plan, minutes: float) -> str:
    numbers = Numbers(site.language)
    took = numbers.duration(timedelta(minutes=minutes))
    if made.usd_per_minute is None:
        return took
    dollars = numbers.rate(minutes * made.usd_per_minute, 2)
    return site.language.say("site-plan-takes", duration=took, dollars=dollars)


def _finds(site: Site, spec: ReportSpec, found: PlanSensitivity | None) -> str:
    say, numbers = site.language.say, Numbers(site.language)
    if found is None:
        return say("site-plan-finds-nothing")
    by = say("site-plan-by-assumption")
    if found.told is not None:
        told = site.language.text(found.told.said)
        known = len(found.campaigns)
        return say("site-plan-finds-told", told=told, campaigns=known, assumed=by)
    if found.campaigns:
        by = say(
            "site-plan-by-campaigns",
            campaigns=len(found.campaigns),
            latest=found.campaigns[-1],
            deployments=found.deployments,
        )
    if found.detects_pct is None:
        return say("site-plan-finds-little", by=by)
    change = numbers.size(round(found.detects_pct, 1), spec.threshold_pct)
    said = say("site-plan-finds-change", change=change, by=by)
    each = [
        f"{site.language.text(metric.said)} {numbers.size(round(pct, 1), THRESHOLD_PCT)}"
        for metric, pct in found.counts
    ]
    if not each:
        return said
    return f"{said}; {say('site-plan-finds-counts', counts=items(each, site.language))}"


def _cheapest(site: Site, spec: ReportSpec, offer: Proposal) -> str:
    numbers = Numbers(site.language)
    return site.language.say(
        "site-plan-cheapest-is",
        change=numbers.size(round(offer.detects_pct, 1), spec.threshold_pct),
        rounds=offer.rounds,
        deployments=offer.deployments,
        duration=numbers.duration(timedelta(hours=offer.hours)),
    )


def _conf(name: str, spec: ReportSpec, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values for the trigger form.

    Changes to a published plan go in fields of their own: a field of the form with the report
    type's value counts as unchanged. A rate is text there, as it may be a share.
    """
    if name != spec.report:
        return {"published": name, "overrides": changes}
    rate = changes.get("rate")
    return changes if rate is None else {**changes, "rate": str(rate)}


def _one(asked: Asked, field: str) -> str:
    """The last value of a field, or an empty text."""
    values = asked.get(field, ())
    return values[-1].strip()[:_LONGEST_FIELD] if values else ""
