"""Compares, validates and publishes a campaign from the store, and decides whether it failed.

Nothing here needs the hosts on which the campaign was measured.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from benchlab import workloads
from benchlab.analysis.verdict.compare import Comparison, verdicts_of
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.campaign.progress import ProgressLog
from benchlab.errors import (
    EvidenceError,
    NotMeasuredError,
    PublishError,
    SpecError,
    StoreError,
    UnsoundReportError,
    told,
)
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import Said, joined, message, names, sayings, side_name
from benchlab.plan.fields.publish import FILES, Destination
from benchlab.plan.steps import Stage
from benchlab.report import bundle, evidence
from benchlab.report.model import report as model
from benchlab.report.model import validation as kept_validation
from benchlab.report.model.validation import Validation
from benchlab.report.publish import files, place, publisher_of
from benchlab.report.publish.destinations import (
    EVIDENCE,
    PublicationRecord,
    publish_command,
    publish_everywhere,
    unpublished,
)
from benchlab.report.publish.publisher import Publication
from benchlab.report.sentences import wording
from benchlab.report.validation import run, tables
from benchlab.results.records import NO_FAILURE, Campaign, inconsistencies
from benchlab.results.store import Store
from benchlab.workloads.workload import Workload

# How many failures of a validation a message names; the validation's file has all of them.
_MOST_NAMED = 6


class StoredCampaign:
    """One campaign in the store: ``StoredCampaign(home, store, store.campaign("c1")).publish()``.

    Args:
        campaign: its record, as read from the store.
        access: makes clients for the report's destinations; None to use the environment's.

    Attributes:
        comparer: compares its sides.
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
        self._record = PublicationRecord(self.directory / "published")
        self.comparer = Comparer(home, store)
        self._validation_file = self.directory / kept_validation.NAME
        self._draft = self.directory / "draft"

    @property
    def workload(self) -> Workload:
        """The module that implements the campaign's workloads."""
        return workloads.workload_of(self.spec)

    def outcome(self) -> Outcome:
        """The campaign as stored now, and the comparison of its sides."""
        return self.comparer.outcome(self.store.campaign(self.campaign.id))

    def validate(self, outcome: Outcome | None = None) -> list[str]:
        """Validate the report before it is published, and note failed gates of the campaign.

        Args:
            outcome: the campaign's outcome; None to compute it from the store.

        Returns:
            A sentence for each failed gate.

        Raises:
            UnsoundReportError: figures of the report do not follow from plan and store. It is kept
                as a draft, in the folder ``draft`` of the campaign's directory.
        """
        outcome = outcome or self.outcome()
        failed = [
            f"{found.workload}: {gate.why}"
            for found in outcome.comparison.checks
            for gate in found.gates
            if gate.status == "fail"
        ]
        for sentence in failed:
            self.note("validate", "warning", sentence)
        self._validated(outcome)
        return failed

    def validation(self) -> Validation | None:
        """The last validation of its report; None if there was none."""
        return kept_validation.read(self._validation_file)

    def _validated(self, outcome: Outcome) -> Validation:
        """The validation of the report, done again if anything has changed or it failed before."""
        of = (outcome.campaign, outcome.comparison, outcome.trials)
        made = tables.of_report(model.build(*of), bundle.figures(*of))
        found = self.validation()
        if found is None or found.failures or found.key != tables.key_of(made):
            self.note("validate", "report")
            found = run.check(made)
            files.write({kept_validation.NAME: found.to_json()}, self.directory)
        if found.failures:
            self.finish()
            draft, _ = self._publication(outcome, found)
            files.replace(draft.files, self._draft)
            error = UnsoundReportError(self._unsound(found))
            self.note("failed", "validate", str(error))
            raise error
        shutil.rmtree(self._draft, ignore_errors=True)
        return found

    def _unsound(self, found: Validation) -> str:
        """What is wrong with the report, where the draft is, and what to do."""
        again = publish_command(self.campaign.id)
        more = len(found.failures) - _MOST_NAMED
        lines = [
            f"{self.campaign.id}: the report does not follow from its trials and is not published:",
            *(str(failure.said) for failure in found.failures[:_MOST_NAMED]),
            *([f"and {more} more"] if more > 0 else []),
            f"it is kept as a draft in {self._draft}; {self._validation_file} has all of that",
            "if nobody changed the store, this is a fault of Benchlab",
            f"once it is mended, `{again}` validates and publishes the report",
        ]
        return "\n".join(lines)

    def publish(
        self, only: str | None = None, destinations: Sequence[Destination] | None = None
    ) -> list[Path]:
        """Render the report from the store and publish it at its destinations; repeatable.

        Files are written first, so that the report exists even if all other destinations fail.

        Args:
            only: a publisher; besides files, only its destinations are used.
            destinations: replace the report type's, here and in :meth:`verdict`.

        Returns:
            The report's files, the Markdown first.

        Raises:
            SpecError: the publisher ``only`` has no destination; nothing is done.
            UnsoundReportError: as :meth:`validate`; no destination gets anything.
            PublishError: names the destinations that lack the report, and why; or says why the
                report has no evidence.
        """
        wanted = self._destinations(destinations)
        chosen = self._chosen(wanted, only)
        self.note("publish", "report")
        outcome = self.finish()
        validation = self._validated(outcome)
        self.store.set_verdicts(self.campaign.id, verdicts_of(outcome.comparison))
        publication, without_evidence = self._publication(outcome, validation)
        self._record.begin(publication.edition, list(map(place, wanted)), destinations)
        publish_everywhere(
            publication,
            [publisher_of(destination, self.home, self.access) for destination in chosen],
            self._record,
            lambda *words: self.note("publish", *words),
            again=publish_command(self.campaign.id, only, destinations),
            without_evidence=without_evidence,
        )
        if outcome.campaign.state == "complete":
            self.overcome("", "validate", "publish", "verdict")
        return [self.home.reports / self.campaign.id / name for name in publication.files]

    def published(self) -> Mapping[str, str]:
        """The addresses of the report's main page, by destination that has its latest edition."""
        return self._record.addresses()

    def publish_where_lacking(self, asked: Sequence[Destination]) -> bool:
        """Publish the report if a destination lacks it, or it lacks evidence; True if it did.

        Args:
            asked: the destinations that the report type names now.

        Raises:
            UnsoundReportError, PublishError: as :meth:`publish`.
        """
        instead = self._record.instead() if tuple(asked) == self.spec.publish else tuple(asked)
        if not self._lacking(instead):
            return False
        self.publish(destinations=instead)
        return True

    def _lacking(self, instead: Sequence[Destination] | None) -> dict[str, str]:
        """Why destinations lack the report, and, under :data:`EVIDENCE`, why it lacks that."""
        recorded, there = self._record.faults(), self.published()
        places = map(place, self._destinations(instead))
        faults = {at: recorded.get(at, "it has not been tried") for at in places if at not in there}
        return faults | {at: why for at, why in recorded.items() if at == EVIDENCE}

    def forget_publication(self) -> None:
        """Forget where the report was published, as it will not cover what is measured next."""
        self._record.forget()
        self._validation_file.unlink(missing_ok=True)

    def _destinations(self, instead: Sequence[Destination] | None) -> tuple[Destination, ...]:
        if instead is None:
            return self.spec.destinations
        return self.spec.model_copy(update={"publish": tuple(instead)}).destinations

    def _chosen(self, wanted: Sequence[Destination], only: str | None) -> list[Destination]:
        publishers = [destination.to for destination in wanted]
        if only is not None and only not in publishers:
            raise SpecError(
                f"{self.campaign.id} is not published to {only!r}, but to: "
                + ", ".join(dict.fromkeys(publishers))
            )
        return [chosen for chosen in wanted if only in (None, chosen.to) or chosen.to == FILES]

    def _publication(
        self, outcome: Outcome, validation: Validation
    ) -> tuple[Publication, str | None]:
        """The report, and why it has no evidence (None if it has)."""
        record, comparison, fault = outcome.campaign, outcome.comparison, None
        contents = bundle.make(
            record,
            comparison,
            outcome.trials,
            self.spec.languages,
            read_object=self.store.read_bytes,
            validation=validation,
        )
        try:
            contents[EVIDENCE] = evidence.make(
                self.store,
                record.id,
                contents,
                gates=self.home.configs / "quality",
                comparison=comparison,
                secrets=self.home.known_passwords(record.id),
            )
        except EvidenceError as error:  # publish the report nevertheless
            fault = str(error)
            self.note("failed", "evidence", fault)
        publication = Publication(
            campaign=record.id,
            report=record.plan.report,
            files=contents,
            lacks=() if EVIDENCE in contents else (EVIDENCE,),
        )
        return publication, fault

    def finish(self) -> Outcome:
        """Set the campaign's final state, and return its outcome.

        The state is ``failed`` if a planned trial has no valid result, or a side's consistency is
        lost or unknown; else ``complete``. A campaign already in that state keeps its end time.
        """
        found = self.outcome()
        record = found.campaign
        unreliable = found.comparison.missing or record.is_unscreened or self._doubts(record)
        state: Literal["complete", "failed"] = "failed" if unreliable else "complete"
        failure = self.store.failure(self.campaign.id) or NO_FAILURE
        if state == "failed" and not failure.said:
            why = tuple(self._why_failed(found))
            self.store.fail(self.campaign.id, failure.followed_by("", why))
        if found.campaign.state != state:
            self.store.finish(self.campaign.id, state)
            finished = self.store.campaign(self.campaign.id)
            found = dataclasses.replace(found, campaign=finished)
        return found

    def verdict(self) -> None:
        """Raise if the campaign was not fully measured or published; a regression does not raise.

        Raises:
            NotMeasuredError: names the trials without a valid result, and why; or the consistency
                conditions that a side violates; or says that the report was not published.
            UnsoundReportError: the report is a draft.
            PublishError: everything was measured, but a destination lacks the report, or the
                report lacks its evidence.
        """
        found = self.outcome()
        outcome, doubts = found.comparison, [*map(str, self._doubts(found.campaign))]
        instead = self._record.instead()
        again = publish_command(self.campaign.id, instead=instead)
        lacking = self._lacking(instead)
        if outcome.missing:
            raise NotMeasuredError(*self._not_measured(found), *doubts)
        if found.campaign.is_unscreened:
            raise NotMeasuredError(message("failure-unscreened"), *doubts)
        if (validation := self.validation()) and validation.failures:
            raise UnsoundReportError("\n".join([self._unsound(validation), *doubts]))
        if FILES in lacking:
            raise NotMeasuredError(
                f"{self.campaign.id}: everything has been measured, but the report was not "
                f"published; `{again}` publishes it, `benchlab render {self.campaign.id}` prints "
                "it" + "".join(f"\n{sentence}" for sentence in doubts)
            )
        if doubts:
            raise NotMeasuredError(message("failure-consistency"), *doubts)
        verdicts = (f"{name}: {verdict}" for name, verdict in _verdicts(outcome).items())
        self.note("verdict", ", ".join(verdicts) or "one version was measured: there is none")
        if lacking:
            raise PublishError(unpublished(self.published(), lacking, again))

    def note(self, stage: Stage | Literal["failed"], phase: str, note: Said = "") -> None:
        """Append a step to the campaign's progress."""
        self.progress.note(stage, phase, note)

    def fail(self, of: str, error: BaseException) -> None:
        """Record that a stage failed and why, for the campaign's page and for lists.

        Args:
            of: the stage or task; empty for the whole campaign.
        """
        said = sayings(error)
        try:
            self.note("failed", of, "\n".join(map(str, said)))
        except OSError as another:
            error.add_note(told(another))
        try:
            failure = self.store.failure(self.campaign.id) or NO_FAILURE
            # An error of the verdict follows from an earlier failure, which says more.
            if of != "verdict" or not failure.said:
                self.store.fail(self.campaign.id, failure.followed_by(of, said))
        except StoreError as another:  # perhaps the same error
            if str(another) != str(error):
                error.add_note(str(another))

    def overcome(self, *stages: str) -> None:
        """Forget the failure of any of these stages, which have succeeded since."""
        self.store.overcome(self.campaign.id, *stages)

    def _why_failed(self, found: Outcome) -> list[Said]:
        """Why a campaign counts as failed, the last trial's own reason first."""
        if found.comparison.missing:
            *others, last = self._not_measured(found)
            return [last, *others[:_MOST_NAMED]]
        if found.campaign.is_unscreened:
            return [message("failure-unscreened"), *self._doubts(found.campaign)]
        return [message("failure-consistency"), *self._doubts(found.campaign)]

    def _not_measured(self, found: Outcome) -> list[Said]:
        """How many trials have no valid result, and why each was rejected."""
        missing, planned = found.comparison.missing, len(found.campaign.wanted.trials)
        counts = {"missing": str(len(missing)), "planned": str(planned)}
        which = "all" if len(missing) == planned else "some"
        if not found.trials:
            which = "none"
        return [
            message(f"failure-{which}", **counts, trials=names.first_of(missing)),
            *wording.stopped(found.campaign),
            *(
                message("failure-trial", trial=one.trial, why=joined(one.reasons))
                for one in found.comparison.excluded
                if one.trial in missing and one.reasons
            ),
        ]

    def _doubts(self, record: Campaign) -> list[Said]:
        """Sentences on consistency conditions violated, or not checked, after the last trial."""
        if self.workload.CONSISTENCY is None:
            return []
        return [
            *(
                message("failure-side", side=side_name(side), why=sentence)
                for side, sentences in inconsistencies(record.facts).items()
                for sentence in sentences
            ),
            *(
                message("failure-unchecked", side=side_name(side))
                for side in record.plan.sides
                if side not in record.facts or "last trial" not in record.facts[side].consistency
            ),
        ]


def _verdicts(comparison: Comparison) -> dict[str, str]:
    """The verdicts on throughput, by workload; none if one version was measured."""
    if not comparison.has_verdicts:
        return {}
    return {workload.name: workload.verdict for workload in comparison.workloads}
