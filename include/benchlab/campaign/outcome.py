"""Compares the sides of stored campaigns, calibrated by others of the same setting."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from benchlab.analysis.cause.causes import NO_CAUSES, Causes
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict import aa_campaigns, compare, estimates
from benchlab.analysis.verdict.aa_campaigns import figures_of
from benchlab.analysis.verdict.calibration_checks import round_means
from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.estimates import Calibration
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.campaign.kept_figures import (
    CAUSES,
    DOUBTS,
    FIGURES,
    FORM,
    MEANS,
    SQUARES,
    Doubted,
    Form,
    T,
    validated,
)
from benchlab.campaign.outline import Outline, outline_of
from benchlab.campaign.watching import Watching
from benchlab.errors import StoreError
from benchlab.home import Home
from benchlab.language import Language
from benchlab.report import gate_files
from benchlab.report.model import causes
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.results.kept import key_of
from benchlab.results.records import REPRODUCES, Campaign, TrialResult, inconsistencies
from benchlab.results.store import Store

log = logging.getLogger(__name__)

OUTLINE = validated("outline", TypeAdapter(Outline))


@dataclass(frozen=True)
class Outcome:
    """A campaign as the store had it at one moment, and the comparison computed from it.

    Attributes:
        comparison: calibrated by the A/A campaigns that had ended by the campaign's end, and by
            other campaigns that had ended when it began, so later ones do not change it.
    """

    campaign: Campaign
    trials: Sequence[TrialResult]
    comparison: Comparison

    def causes(self, store: Store) -> Causes:
        """Why workloads changed."""
        return causes.diagnosed(self._counted(store), self.campaign, store.read_bytes)

    def _counted(self, store: Store) -> Causes:
        """What their counts tell.

        The counts of all their trials are read once, and what follows from them is kept, unless
        some could not be read: they may be there the next time.
        """
        of = self.campaign, self.comparison, self.trials
        if not (inputs := causes.inputs(*of)):
            return NO_CAUSES
        name, key = self.campaign.id, key_of(FORM, *inputs)
        if kept := store.kept.read(CAUSES.part, {name: key}):
            return CAUSES.from_json(kept[name])
        found = causes.counted(*of, store.read_bytes)
        if not found.unread:
            store.kept.write(CAUSES.part, {name: (key, CAUSES.to_json(found))})
        return found

    def report(self, known: Causes, language: Language | None = None) -> Report:
        """Its report, as the terminal and messages show it."""
        measured = self.campaign, self.comparison, self.trials
        return model.build(*measured, language=language, causes=known)


class Comparer:
    """Compares campaigns of one store; reads the gates and A/A campaigns that they share once.

    Figures of a campaign that has ended do not change. They are kept in the store
    (:mod:`benchlab.results.kept`), for the verdicts of other campaigns and for studies of many.

    Example:
        ``Comparer(home, store).outcome(store.campaign("c1")).comparison.workloads``

    Attributes:
        campaigns: returns all campaigns of a report type, the earliest first, as they were at the
            first call.
        outlines: the same as outlines, without reading their plans. One that cannot be read is left
            out with a warning in the log; reproductions are left out as well.
        watching: judges those with ``design: watch``.
    """

    def __init__(self, home: Home, store: Store) -> None:
        self.home, self.store = home, store
        self.campaigns = functools.cache(store.campaigns)
        self._states: dict[str, str] = {}
        self.outlines = functools.cache(self._outlines_of)
        self._alike: dict[str, list[Outline]] = {}
        self._squares: dict[str, estimates.Shown] = {}
        self._calibrations: dict[tuple[tuple[str, ...], ...], Calibration] = {}
        self._last: tuple[str, compare.Shown] | None = None
        self.watching = Watching(self)

    def outcome(self, campaign: Campaign, trials: Sequence[TrialResult] | None = None) -> Outcome:
        """Compare the sides of a campaign, from the trials that the store has now.

        Args:
            trials: for a campaign that combines others; None to read them from the store.

        Raises:
            SpecError: the gates cannot be read.
            StoreError: the store cannot be read.
        """
        trials = self.store.trials(campaign.id) if trials is None else trials
        known = self.calibrating(campaign)
        return Outcome(campaign, trials, self._calibrated_by(campaign, trials, known))

    def later(self, made: Outcome) -> Comparison | None:
        """Repeat a comparison with the A/A campaigns that have ended since then added.

        Returns:
            None if every verdict would be the same.

        Raises:
            StoreError: the store cannot be read.
        """
        since = self.calibrating(made.campaign, later=True)
        if len(since) == len(self.calibrating(made.campaign)):
            return None
        found = self._calibrated_by(made.campaign, made.trials, since)
        return found if _words(found) != _words(made.comparison) else None

    def _calibrated_by(
        self, campaign: Campaign, trials: Sequence[TrialResult], others: Sequence[Outline]
    ) -> Comparison:
        """Compare the sides, calibrated by these A/A campaigns."""
        means = self.kept_or_made(
            MEANS, self.keys(others), others, lambda one: round_means(self.figures([one])[one.id])
        )
        made = compare.compare(
            campaign.wanted,
            trials,
            campaign.report_type.threshold_pct,
            inconsistencies(campaign.facts),
            gates=self.gates,
            calibration=self._shown_by(others, self.earlier(campaign)),
            started_at=campaign.started_at,
            aa_campaigns={other.started_at: means[other.id] for other in others},
        )
        return self.watching.judged(campaign, made, trials)

    def _outlines_of(self, report: str) -> list[Outline]:
        standings = self.store.standings(report)
        keys = {name: key_of(FORM, standing) for name, standing in standings.items()}
        kept = self.store.kept.read(OUTLINE.part, keys)
        new = list(self._new_outlines(name for name in keys if name not in kept))
        self._keep(OUTLINE, new, keys, {one.id: one for one in new})
        found = {name: OUTLINE.from_json(raw) for name, raw in kept.items()}
        found |= {one.id: one for one in new}
        known = [found[name] for name in keys if name in found]
        return [one for one in known if not one.origin.startswith(REPRODUCES)]

    def _new_outlines(self, names: Iterable[str]) -> Iterator[Outline]:
        for name in names:
            try:
                yield outline_of(self.store.campaign(name))
            except StoreError as error:
                log.warning("left out: %s", error)

    def calibration(self, campaign: Campaign | Outline) -> Calibration:
        """What other campaigns of the same report type and setting show, in its time."""
        return self._shown_by(self.calibrating(campaign), self.earlier(campaign))

    def _shown_by(self, aa: Sequence[Outline], earlier: Sequence[Outline]) -> Calibration:
        known = tuple(tuple(one.id for one in group) for group in (aa, earlier))
        if known not in self._calibrations:
            unread = [one for one in (*aa, *earlier) if one.id not in self._squares]
            self._squares |= self.kept_or_made(
                SQUARES,
                self.keys(unread),
                unread,
                lambda one: estimates.shown_by(
                    self.figures([one])[one.id], about_zero=one.calibrates
                ),
            )
            self._calibrations[known] = estimates.pooled(
                *({name: self._squares[name] for name in group} for group in known)
            )
        return self._calibrations[known]

    def calibrating(self, campaign: Campaign | Outline, *, later: bool = False) -> list[Outline]:
        """The A/A campaigns that calibrate a campaign, the earliest first.

        Args:
            later: include those that ended after it, which its own verdicts do not use.
        """
        own = outline_of(campaign)
        # What a look saw must not change while its campaign goes on.
        ended = None if later else own.started_at if own.looks else own.ended_at
        return [
            other
            for other in self._like(own)
            if other.calibrates
            and other.id != own.id
            and (ended is None or other.ended_at is None or other.ended_at <= ended)
        ]

    def earlier(self, campaign: Campaign | Outline) -> list[Outline]:
        """The latest campaigns that compared two versions before it, the earliest first.

        They show how deployments differ if they have a workload of it, and deployed each side
        several times. Those whose data came from a dataset snapshot say nothing of sides that were
        loaded, and the reverse.
        """
        own = outline_of(campaign)
        if own.screening_rounds is not None:
            return []  # its weeks are its knowledge
        return [
            other
            for other in self._like(own)
            if other.shows_deployments
            and other.restored == own.restored
            and any(own.threads.get(name) == found for name, found in other.threads.items())
            and other.ended_at is not None
            and other.ended_at <= own.started_at
        ][-estimates.LATEST_EARLIER :]

    def _like(self, own: Outline) -> list[Outline]:
        """The campaigns of its report type with its setting, the earliest first."""
        setting = json.dumps([own.report, own.setting], sort_keys=True)
        if setting not in self._alike:
            self._alike[setting] = [
                other
                for other in self.outlines(own.report)
                if not aa_campaigns.unlike(own.setting, other.setting)
            ]
        return self._alike[setting]

    # What is kept of campaigns that have ended

    def figures(self, campaigns: Sequence[Outline]) -> dict[str, Sequence[Rounds]]:
        """The usable figures of campaigns, by campaign."""
        keys = self.keys(campaigns)
        return self.kept_or_made(FIGURES, keys, campaigns, self._figures_of)

    def _figures_of(self, campaign: Outline) -> Sequence[Rounds]:
        if self._last is not None and self._last[0] == campaign.id:
            return self._last[1].workloads
        return figures_of(self.store, self.store.campaign(campaign.id))

    def doubts(self, campaigns: Sequence[Outline]) -> dict[str, Doubted]:
        """Why verdicts differ from what the intervals alone would say, by campaign."""

        def made(one: Outline) -> Doubted:
            found = self._shown(one).doubts
            return found.unstable, found.not_equivalent

        return self.kept_or_made(DOUBTS, self.keys(campaigns, self.rules), campaigns, made)

    def kept_or_made(
        self,
        form: Form[T],
        keys: Mapping[str, str],
        campaigns: Iterable[Outline],
        make: Callable[[Outline], T],
    ) -> dict[str, T]:
        """One kept part of campaigns, by id; what is missing is computed with ``make`` and kept.

        Args:
            keys: the key of what it follows from, by campaign.
        """
        kept = self.store.kept.read(form.part, keys)
        found = {name: form.from_json(raw) for name, raw in kept.items()}
        for one in campaigns:
            if one.id not in found:
                found[one.id] = make(one)
                self._keep(form, [one], keys, found)  # each at once: there may be many
        return found

    def _keep(
        self,
        form: Form[T],
        campaigns: Iterable[Outline],
        keys: Mapping[str, str],
        made: Mapping[str, T],
    ) -> None:
        # A running campaign changes with its next trial; a campaign that began after the states
        # were read has no key.
        documents = {
            one.id: (keys[one.id], form.to_json(made[one.id]))
            for one in campaigns
            if one.state != "running" and one.id in keys
        }
        if documents:
            self.store.kept.write(form.part, documents)

    def keys(self, campaigns: Iterable[Outline], *rules: object) -> dict[str, str]:
        """Keys of campaigns' figures, by campaign, combined with the rules that judge them.

        Each is read once, the first time that it is asked for.
        """
        names = [one.id for one in campaigns]
        if unread := [name for name in names if name not in self._states]:
            states = self.store.states(unread)
            self._states |= {name: key_of(FORM, state) for name, state in states.items()}
        found = {name: self._states[name] for name in names if name in self._states}
        return {name: key_of(state, *rules) for name, state in found.items()} if rules else found

    def _shown(self, campaign: Outline) -> compare.Shown:
        """What its trials show; cached for the last campaign."""
        if self._last is None or self._last[0] != campaign.id:
            whole = self.store.campaign(campaign.id)
            shown = compare.shown_by(
                whole.wanted,
                self.store.trials(campaign.id),
                campaign.threshold_pct,
                inconsistencies(whole.facts),
                gates=self.gates,
            )
            self._last = campaign.id, shown
        return self._last[1]

    @functools.cached_property
    def rules(self) -> str:
        """A key for the definitions of all gates."""
        return key_of(*(gate.model_dump_json() for gate in self.gates))

    @functools.cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The definitions of all gates."""
        return gate_files.load_all(self.home.configs / "quality")


def _words(comparison: Comparison) -> list[str]:
    return [found.verdict for one in comparison.workloads for _, found in one.decided]
