"""What can be done with a campaign that the store has: compare, validate, publish, judge.

None of it needs the machine on which it was measured.
"""

from __future__ import annotations

import functools
import shutil
import time
from pathlib import Path
from types import ModuleType

from benchlab import aa_campaigns, catalog, compare, consistency, data_docs, quality
from benchlab.calibration import Calibration
from benchlab.data_docs import DataDocsError, Validation
from benchlab.errors import NotMeasuredError
from benchlab.home import Home
from benchlab.progress import ProgressLog, Step
from benchlab.publishers import files
from benchlab.report import bundle
from benchlab.results import Campaign, inconsistencies
from benchlab.spec import ReportSpec
from benchlab.store import Store


class StoredCampaign:
    """One campaign in the store.

    Args:
        home: the installation.
        store: the results store.
        campaign: its record, as read from the store.
    """

    def __init__(self, home: Home, store: Store, campaign: Campaign) -> None:
        self.home, self.store, self.campaign = home, store, campaign
        self.spec = ReportSpec.model_validate(campaign.spec)
        self.plan = campaign.plan
        self.directory = home.campaign(campaign.id)
        self.progress = ProgressLog(self.directory / "progress.jsonl")

    @property
    def workload(self) -> ModuleType:
        """The module that has its workloads."""
        return catalog.module_of(self.spec)

    def compare(self) -> compare.Comparison:
        """The verdicts from what the store has now."""
        record = self.store.campaign(self.campaign.id)
        return compare.compare(
            self.plan,
            self.store.trials(self.campaign.id),
            self.spec.threshold_pct,
            inconsistencies(record.facts),
            gates=quality.load_all(self.home.configs / "quality"),
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
                files.publish(found.files, self._data_docs)
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
            quality.of_metric(quality.load_all(self.home.configs / "quality"), metric),
            quality.custom_gates(),
            trials,
            {(each.trial.id, each.attempt) for each in trials} - excluded,
            [trial.id for trial in self.plan.trials],
            [(each.workload, each.threads, each.side, each.gates) for each in outcome.cells],
            self.campaign.id,
        )

    def publish(self) -> list[Path]:
        """Write the report from the store, with the data docs where there are any.

        Returns:
            Its files, the Markdown first.
        """
        self.note("publish", "report")
        self.finish()
        record = self.store.campaign(self.campaign.id)
        docs = files.read(self._data_docs)
        contents = bundle.make(record, self.compare(), self.store.trials(self.campaign.id), docs)
        directory = self.home.reports / self.campaign.id
        if not docs:  # those of an earlier report are not about this one
            shutil.rmtree(directory / bundle.DATA_DOCS, ignore_errors=True)
        paths = files.publish(contents, directory)
        self._published.touch()
        return paths

    @property
    def _published(self) -> Path:
        return self.directory / "published"

    @property
    def _data_docs(self) -> Path:
        return self.directory / bundle.DATA_DOCS

    def finish(self) -> None:
        """Set the final state: complete, or failed where something gave no figure to rely on.

        That is a planned trial without a valid result, or a side that is not consistent any more.
        """
        unreliable = self.compare().missing or self.doubts()
        state = "failed" if unreliable else "complete"
        self.store.finish(self.campaign.id, state)  # type: ignore[arg-type]

    def verdict(self) -> None:
        """Fail where something could not be measured; a finding is not a failure.

        Raises:
            NotMeasuredError: names the trials without a valid result and why; or the conditions
                that a side's dataset does not meet any more; or nothing is missing, and there is
                no report nevertheless.
        """
        outcome = self.compare()
        doubts = self.doubts()
        if not outcome.missing and not self._published.exists():
            raise NotMeasuredError(
                f"{self.campaign.id}: everything has been measured, but the report was not "
                f"published; `benchlab render {self.campaign.id}` prints it"
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
            return
        why = [
            f"{e.trial}: {'; '.join(e.reasons)}"
            for e in outcome.excluded
            if e.trial in outcome.missing
        ]
        raise NotMeasuredError(
            f"{len(outcome.missing)} of {len(self.plan.trials)} trials have no valid result: "
            f"{', '.join(outcome.missing)}\n" + "\n".join([*why, *doubts])
        )

    def doubts(self) -> list[str]:
        """Why its figures cannot be relied on though they are there, as sentences."""
        record = self.store.campaign(self.campaign.id)
        return consistency.doubts(record, consistency.conditions_of(self.workload))

    def note(self, stage: str, phase: str, note: str = "") -> None:
        """Write a step to the campaign's progress."""
        self.progress.write(Step(time.time(), stage, phase, note=note))
