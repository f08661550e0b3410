"""Replaces a report type's version rules with versions as of a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchlab.errors import NoReleaseError
from benchlab.language import Message, message, said_by, side_name
from benchlab.plan import documents, last_measured, versions
from benchlab.plan.fields import builds as builds_of
from benchlab.plan.fields.builds import Builds, Nightly
from benchlab.plan.fields.engines import EngineSpec, SideSpec
from benchlab.plan.fields.schedule import ORDINARY, OnRelease, Turn
from benchlab.plan.last_measured import Measured
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.plan.versions import FINAL, MEASURED, NIGHTLY, RELATIVE, RUNNING, Release, ReleaseType


@dataclass(frozen=True)
class ByRules:
    """A report type after its version rules were replaced by versions.

    Attributes:
        spec: with a version on each side that may be deployed.
        notes: which rule named which version; empty where there was no rule.
    """

    spec: ReportSpec
    on: date
    notes: tuple[Message, ...]


def resolve(
    spec: ReportSpec,
    releases_of: Callable[[str], Sequence[Release]],
    on: date,
    *,
    turn: Turn = ORDINARY,
    measured: Measured = last_measured.nothing,
    nightly_of: Callable[[str, date], Nightly] | None = None,
) -> ByRules:
    """Replace a report type's version rules with versions as of a day.

    Example:
        ``resolve(spec, lambda engine: releases, date(2022, 12, 31)).spec.is_resolved`` is true.

    Args:
        releases_of: gives the releases of an engine by its name.
        turn: what the schedule wants. If that is an A/A campaign, both sides are the candidate, but
            only with `sides: different`; with `sides: same` every campaign is an A/A campaign, of
            the baseline.
        measured: gives what the report type has measured, by engine.
        nightly_of: gives the nightly of an engine on a day, or raises NoReleaseError; None: no
            nightly is available.

    Raises:
        NoReleaseError: the calendar has no release that a rule names, or both sides' rules name
            the same one; names the field.
    """
    aa = turn.aa and spec.sides == "different"
    naming = _Naming(spec, on, turn, measured, nightly_of)
    notes: list[Message] = []
    changes: dict[str, Any] = {}
    for name in spec.deployable_engines:
        entry = spec.engines[name]
        sides: dict[Side, SideSpec] = {"baseline": entry.baseline}
        relative = entry.baseline.version in RELATIVE
        if entry.candidate is not None and (relative or spec.sides != "same"):
            sides = {
                "candidate": entry.candidate,
                "baseline": entry.candidate if aa else entry.baseline,
            }
        candidate: SideSpec | None = None
        for side, chosen in sides.items():
            named, rule = naming.side(name, side, chosen, releases_of(name), candidate)
            if side == "candidate":
                candidate = named
            changes[f"engines.{name}.{side}"] = named.model_dump(mode="json")
            # With `sides: same` the candidate's version only serves to find the baseline's.
            if rule and not (spec.sides == "same" and side == "candidate"):
                whose = message("side-both") if spec.sides == "same" else side_name(side)
                notes.append(message("rule-of-side", side=whose, named=rule))
        if entry.candidate is not None and "candidate" not in sides:
            # Nothing depends on its version, which may be a rule that nobody can answer here.
            of = {"version": named.version, "builds": named.builds}
            resolved = entry.candidate.model_copy(update=of)
            changes[f"engines.{name}.candidate"] = resolved.model_dump(mode="json")
        if spec.sides == "different" and not aa and not spec.connections:
            _refuse_no_pair(name, entry, changes, on)
    if aa:
        changes |= {"sides": "same", "design": "fixed"}
        notes.append(message("rule-aa"))
    return ByRules(spec.with_overrides(changes), on, tuple(dict.fromkeys(notes)))


def _refuse_no_pair(engine: str, entry: EngineSpec, changes: Mapping[str, Any], on: date) -> None:
    baseline, candidate = (changes[f"engines.{engine}.{side}"] for side in SIDES)
    if baseline == candidate and entry.candidate is not None:
        raise NoReleaseError(
            f"engines.{engine}: no pair on {on}: `{entry.baseline.version}` of the baseline and "
            f"`{entry.candidate.version}` of the candidate are both {baseline['version']}"
        )


@dataclass(frozen=True)
class _Naming:
    """Names the versions of one campaign's sides."""

    spec: ReportSpec
    on: date
    turn: Turn
    measured: Measured
    nightly_of: Callable[[str, date], Nightly] | None

    def side(
        self,
        engine: str,
        side: Side,
        chosen: SideSpec,
        releases: Sequence[Release],
        candidate: SideSpec | None,
    ) -> tuple[SideSpec, Message | None]:
        """A side with a version, and a note on the rule that named it; None without a rule.

        Builds that the side names itself replace those that come with the version.
        """
        try:
            if chosen.is_resolved:
                return self._with_packages(engine, chosen), None
            version, builds, sentence = self._named(engine, chosen.version, releases, candidate)
        except NoReleaseError as error:
            fault = documents.at(f"engines.{engine}.{side}.version", said_by(error))
            raise NoReleaseError(fault, side) from error
        changes = {"version": version, "builds": {**builds, **chosen.builds}}
        return chosen.model_copy(update=changes), sentence

    def _named(
        self, engine: str, rule: str, releases: Sequence[Release], candidate: SideSpec | None
    ) -> tuple[str, Builds, Message]:
        """The version that a rule names, its builds, and a note that says so."""
        if candidate is not None and (found := self._release(releases, candidate)) is not None:
            text, day = found.version.text, str(found.day)
            return text, {}, message("rule-replaced", rule=rule, label=text, day=day)
        if rule == RUNNING:
            raise NoReleaseError(f"{rule}: the server has to be asked, which is not done here")
        if rule == NIGHTLY:
            nightly = self._nightly(engine)
            label = builds_of.label(nightly.version, nightly.builds)
            why = message("rule-of-day", day=str(nightly.day))
            said = self._said(rule, label, why)
            if nightly.stands_in is not None:
                said = message("rule-as-if", rule=rule, label=label, why=nightly.stands_in)
            return nightly.version, nightly.builds, said
        if candidate is not None and rule in MEASURED:
            named, why = last_measured.resolve(
                rule, self.measured(engine), releases, self.on, candidate
            )
            label = builds_of.label(named.version, named.builds)
            return named.version, named.builds, self._said(rule, label, why)
        # The release of the day is of one of the types for which the schedule has runs.
        schedule = self.spec.schedule
        types: Sequence[ReleaseType] = schedule.types if isinstance(schedule, OnRelease) else FINAL
        of = versions.parse(candidate.version) if candidate is not None else None
        release = versions.resolve(
            versions.parse_rule(rule), releases, self.on, of, types, self.turn.nth
        )
        text = release.version.text
        why = message("rule-released", day=str(release.day))
        return text, {}, self._said(rule, text, why)

    def _said(self, rule: str, label: str, why: Message) -> Message:
        return message("rule-named", rule=rule, on=str(self.on), label=label, why=why)

    def _with_packages(self, engine: str, chosen: SideSpec) -> SideSpec:
        """Add the packages of the nightly to a side that has its real name as version.

        The mirror gives that name to every nightly, so it does not tell them apart.
        """
        if not builds_of.is_nightly(chosen.version) or chosen.builds or self.nightly_of is None:
            return chosen
        nightly = self._nightly(engine)
        if nightly.stands_in is None and nightly.version != chosen.version:
            raise NoReleaseError(
                f"{chosen.version}: the mirror's nightly is {nightly.version} now; name a kept "
                "build (`benchlab builds`)"
            )
        return chosen.model_copy(update={"builds": nightly.builds})

    def _nightly(self, engine: str) -> Nightly:
        if self.nightly_of is None:
            raise NoReleaseError(f"{NIGHTLY} on {self.on}: it cannot be asked for here")
        return self.nightly_of(engine, self.on)

    def _release(self, releases: Sequence[Release], candidate: SideSpec) -> Release | None:
        """The release that stands in for the baseline's rule this week; None: the rule holds.

        A candidate that is a release itself needs no tie to releases.
        """
        if not self.turn.with_release or self.turn.aa or self.spec.sides != "different":
            return None
        before = [release for release in releases if release.day <= self.on]
        version = versions.parse(candidate.version)
        is_release = not candidate.builds and any(
            release.version == version for release in before if release.kind in FINAL
        )
        return None if is_release else versions.newest_before(before, candidate.label)
