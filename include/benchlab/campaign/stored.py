"""What can be done with a campaign that the store has: compare, validate, publish, judge.

None of it needs the machine on which it was measured.
"""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchlab import workloads
from benchlab.analysis.gates import data_docs, gates
from benchlab.analysis.gates.data_docs import DataDocsError, Validation
from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict import compare as compare_module
from benchlab.analysis.verdict.calibration import Calibration
from benchlab.analysis.verdict.compare import Comparison
from benchlab.campaign import consistency
from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.errors import EvidenceError, NotMeasuredError, PublishError, SpecError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import names
from benchlab.plan.report_type import FILES, Destination
from benchlab.report import bundle, evidence
from benchlab.report.formats import pages
from benchlab.report.publish import files, place, publisher_of
from benchlab.report.publish.destinations import (
    EVIDENCE,
    PublicationRecord,
    publish_command,
    publish_everywhere,
    unpublished,
)
from benchlab.report.publish.publisher import Publication
from benchlab.results.records import Campaign, inconsistencies
from benchlab.results.store import Store
from benchlab.workloads.workload import Workload


class StoredCampaign:
    """One campaign in the store.

    Args:
        home: the installation.
        store: the results store.
        campaign: its record, as read from the store.
        access: to where its report is published; None: as the environment gives it.
    """

    def __init__(
        self, home: Home, store: Store, campaign: Campaign, access: Access | None = None
    ) -> None:
        self.home, self.store, self.campaign = home, store, campaign
        self.access = access or Access()
        self.spec = campaign.report_type
        self.plan = campaign.plan
        self.directory = home.campaign(campaign.id)
        self.progress = ProgressLog(self.directory / "progress.jsonl")

    @property
    def workload(self) -> Workload:
        """The module that has its workloads."""
        return workloads.workload_of(self.spec)

    def compare(self) -> Comparison:
        """The verdicts from what the store has now."""
        record = self.store.campaign(self.campaign.id)
        return compare_module.compare(
            self.plan,
            self.store.trials(self.campaign.id),
            self.spec.threshold_pct,
            inconsistencies(record.facts),
            gates=gates.load_all(self.home.configs / "quality"),
            calibration=self._calibration,
        )

    @functools.cached_property
    def _calibration(self) -> Calibration:
        """Read once: those of many A/A campaigns are many trials."""
        record = self.store.campaign(self.campaign.id)
        return aa_campaigns.calibration_for(self.store, record)

    def validate(self) -> Validation:
        """Evaluate all gates once more, by Great Expectations; keep the data docs for the report.

        Nothing that was measured or decided depends on it: a caller may publish without.

        Raises:
            DataDocsError: it failed; there are no data docs then, and the progress says why.
        """
        self.note("validate", "gates")
        shutil.rmtree(self._data_docs, ignore_errors=True)
        try:
            with data_docs.guarded():
                found = self._evaluate_gates()
                files.write(found.files, self._data_docs)
        except DataDocsError as error:
            self.note("failed", "validate", str(error))
            raise
        self.note("validate", "evaluated", data_docs.summary(found.outcomes))
        for sentence in found.disagreements:
            self.note("validate", "warning", sentence)
        return found

    def _evaluate_gates(self) -> Validation:
        outcome = self.compare()
        trials = self.store.trials(self.campaign.id)
        excluded = {(each.trial, each.attempt) for each in outcome.excluded}
        metric = self.plan.metric(self.plan.trials[0].workload)
        return data_docs.build(
            gates.of_metric(gates.load_all(self.home.configs / "quality"), metric),
            trials,
            {(each.trial.id, each.attempt) for each in trials} - excluded,
            [trial.id for trial in self.plan.trials],
            [(each.workload, each.threads, each.side, each.gates) for each in outcome.cells],
            self.campaign.id,
        )

    def publish(
        self, only: str | None = None, destinations: Sequence[Destination] | None = None
    ) -> list[Path]:
        """Render the report from the store and bring it to its destinations; repeatable.

        It goes into files first, so that it is there whatever becomes of the others; each of them
        is tried, though one fails.

        Args:
            only: beside files, only the destinations of this publisher.
            destinations: other ones than the report type's; the verdict asks for these then.

        Returns:
            Its files, the Markdown first.

        Raises:
            SpecError: there is no destination of this publisher; nothing is done.
            PublishError: names the destinations that do not have the report, and why; or why it
                is without its evidence.
        """
        wanted = self._destinations(destinations)
        chosen = self._chosen(wanted, only)
        self.note("publish", "report")
        self.finish()
        publication, without_evidence = self._publication()
        self._record.begin(publication.edition, list(map(place, wanted)), destinations)
        publish_everywhere(
            publication,
            [publisher_of(each, self.home, self.access) for each in chosen],
            self._record,
            lambda *words: self.note("publish", *words),
            again=publish_command(self.campaign.id, only, destinations),
            without_evidence=without_evidence,
        )
        return [self.home.reports / self.campaign.id / name for name in publication.files]

    def published(self) -> Mapping[str, str]:
        """Where the report is as it was rendered last: the address of its main page, by place."""
        return self._record.addresses()

    def forget_publication(self) -> None:
        """A report that was published is not about what is measured from here on."""
        self._record.forget()

    def _destinations(self, instead: Sequence[Destination] | None) -> tuple[Destination, ...]:
        if instead is None:
            return self.spec.destinations
        return self.spec.model_copy(update={"publish": tuple(instead)}).destinations

    def _chosen(self, wanted: Sequence[Destination], only: str | None) -> list[Destination]:
        if only is not None and only not in {each.to for each in wanted}:
            raise SpecError(
                f"{self.campaign.id} is not published to {only!r}, but to: "
                + ", ".join(dict.fromkeys(each.to for each in wanted))
            )
        return [each for each in wanted if only in (None, each.to) or each.to == FILES]

    def _publication(self) -> tuple[Publication, str | None]:
        """The report with its evidence, and why there is none where it cannot be made."""
        record, outcome = self.store.campaign(self.campaign.id), self.compare()
        contents, fault = self._contents(record, outcome), None
        try:
            contents[EVIDENCE] = self._evidence(contents, outcome)
        except EvidenceError as error:  # the report is not to be lost for it
            fault = str(error)
            self.note("failed", "evidence", fault)
        publication = Publication(
            campaign=record.id,
            report=record.plan.report,
            title=self.spec.title,
            versions=tuple(side.version for side in record.plan.sides.values()),
            started_at=record.started_at,
            state=record.state,
            aa=record.is_aa,
            verdicts={workload.name: workload.verdict for workload in outcome.workloads},
            pages={
                code: f"{page.folder}report.html"
                for code, page in pages.of_languages(self.spec.languages).items()
            },
            files=contents,
            lacks=tuple(
                part
                for part in (bundle.DATA_DOCS, EVIDENCE)
                if not any(name.partition("/")[0] == part for name in contents)
            ),
        )
        return publication, fault

    def _contents(self, record: Campaign, outcome: Comparison) -> dict[str, bytes]:
        """The report, by relative path; the same campaign gives the same."""
        docs = files.read(self._data_docs)
        results = self.store.trials(record.id)
        return bundle.make(record, outcome, results, docs, self.spec.languages)

    def _evidence(self, report: Mapping[str, bytes], outcome: Comparison) -> bytes:
        return evidence.make(
            self.store,
            self.campaign.id,
            report,
            gates=self.home.configs / "quality",
            calibration=outcome.calibration.campaigns,
            secrets=self.home.known_passwords(self.campaign.id),
        )

    @property
    def _record(self) -> PublicationRecord:
        return PublicationRecord(self.directory / "published")

    @property
    def _data_docs(self) -> Path:
        return self.directory / bundle.DATA_DOCS

    def finish(self) -> None:
        """Set the final state: complete, or failed where something gave no figure to rely on.

        That is a planned trial without a valid result, or a side that is not consistent any more.
        A campaign that has this state keeps the time of its end.
        """
        unreliable = self.compare().missing or self.doubts()
        state = "failed" if unreliable else "complete"
        if self.store.campaign(self.campaign.id).state != state:
            self.store.finish(self.campaign.id, state)  # type: ignore[arg-type]

    def verdict(self) -> None:
        """Fail where something could not be measured; a finding is not a failure.

        Raises:
            NotMeasuredError: names the trials without a valid result and why; or the conditions
                that a side's dataset does not meet any more; or nothing is missing, and there is
                no report nevertheless.
            PublishError: nothing is missing, and there is a report, but not everywhere, or
                without its evidence.
        """
        outcome = self.compare()
        doubts = self.doubts()
        instead = self._record.instead()
        again = publish_command(self.campaign.id, instead=instead)
        places = map(place, self._destinations(instead))
        lacking = [place for place in places if place not in self.published()]
        if not outcome.missing and FILES in lacking:
            raise NotMeasuredError(
                f"{self.campaign.id}: everything has been measured, but the report was not "
                f"published; `{again}` does it, "
                f"`benchlab render {self.campaign.id}` prints it"
                + "".join(f"\n{sentence}" for sentence in doubts)
            )
        if not outcome.missing and doubts:
            raise NotMeasuredError(
                "figures of a database whose consistency is lost or not known cannot be relied "
                "on; where it is lost, see whether anything else wrote to it, and what its log "
                "says; where it is not known, measure again:\n" + "\n".join(doubts)
            )
        if not outcome.missing:
            self.note("verdict", ", ".join(f"{w.name}: {w.verdict}" for w in outcome.workloads))
            told = self._record.faults()
            faults = {place: told.get(place, "it was not tried") for place in lacking}
            if EVIDENCE in told:
                faults[EVIDENCE] = told[EVIDENCE]
            if faults:
                raise PublishError(unpublished(self.published(), faults, again))
            return
        why = [
            f"{e.trial}: {'; '.join(map(str, e.reasons))}"
            for e in outcome.excluded
            if e.trial in outcome.missing
        ]
        if not self.store.trials(self.campaign.id):
            missing = f"none of the {len(self.plan.trials)} trials was measured"
        else:
            missing = _missing(outcome.missing, len(self.plan.trials))
        raise NotMeasuredError("\n".join([missing, *why, *doubts]))

    def doubts(self) -> list[str]:
        """Why its figures cannot be relied on though they are there, as sentences."""
        record = self.store.campaign(self.campaign.id)
        return consistency.doubts(record, self.workload.CONSISTENCY)

    def note(self, stage: str, phase: str, note: str = "") -> None:
        """Write a step to the campaign's progress."""
        self.progress.write(ProgressNote(time.time(), stage, phase, note=note))


def _missing(trials: Sequence[str], planned: int) -> str:
    """How many trials have no valid result, and which of them, where that tells something."""
    text = f"{len(trials)} of {planned} trials have no valid result"
    return text if len(trials) == planned else f"{text}: {names.first_of(trials)}"
