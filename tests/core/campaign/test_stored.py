"""A campaign in the store: its verdict says what is missing; only what is sound is published."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest

from benchlab.campaign import stored as stored_module
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import NotMeasuredError, PublishError, UnsoundReportError
from benchlab.plan.fields.publish import Destination
from benchlab.report.formats import json_text
from benchlab.report.model.validation import Validation
from benchlab.report.publish import publisher_of
from benchlab.report.validation import run
from benchlab.report.validation.tables import Table
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.installation import Here


def verdict(here: Here, *, valid: int, broken: int = 0) -> tuple[str, int]:
    """What the verdict says if only some trials were measured, and how many were planned."""
    campaign = campaigns.campaign(rounds=4)
    results = campaigns.results_of(campaign.plan)
    with Store(here.home.store_url, here.home.objects) as store:
        store.add_campaign(campaign)
        for result in results[:valid]:
            store.add_trial(campaign.id, result)
        for result in results[valid : valid + broken]:
            invalid = campaigns.trial_result(result.trial, reasons=["it stalled"])
            store.add_trial(campaign.id, invalid)
        with pytest.raises(NotMeasuredError) as caught:
            StoredCampaign(here.home, store, campaign).verdict()
    return str(caught.value), len(results)


def test_if_no_trial_was_started_none_is_named(here: Here) -> None:
    """The plan has their names; a person looks for what failed before them."""
    said, planned = verdict(here, valid=0)
    assert said == f"none of the {planned} trials was measured"


def test_if_all_trials_failed_the_reasons_name_them(here: Here) -> None:
    """One per line, after their number."""
    planned = len(campaigns.campaign(rounds=4).plan.trials)
    said, _ = verdict(here, valid=0, broken=planned)
    first, *reasons = said.splitlines()
    assert first == f"{planned} of {planned} trials have no valid result"
    assert len(reasons) == planned
    assert all(line.endswith(": it stalled") for line in reasons)


def test_of_many_missing_trials_some_are_named(here: Here) -> None:
    """The first six in the order of the plan."""
    said, planned = verdict(here, valid=1)
    names = [trial.id for trial in campaigns.campaign(rounds=4).plan.trials[1:]]
    listed = ", ".join(names[:6])
    assert said == (
        f"{planned - 1} of {planned} trials have no valid result: {listed} and {planned - 7} more"
    )


def test_a_few_missing_trials_are_all_named(here: Here) -> None:
    """Not `and 0 more`."""
    planned = len(campaigns.campaign(rounds=4).plan.trials)
    said, _ = verdict(here, valid=planned - 6)
    assert "6 of" in said
    assert "more" not in said


@pytest.fixture
def campaign(stored: Here) -> Iterator[StoredCampaign]:
    """A whole campaign in the store."""
    with Store(stored.home.store_url, stored.home.objects) as store:
        yield StoredCampaign(stored.home, store, store.campaign("c1"))


def test_a_report_is_published_where_it_is_lacking_and_nowhere_else(
    campaign: StoredCampaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bucket that was out of reach, or that the report type names by now, gets it later."""
    own, files = campaign.spec.publish, campaign.home.reports / "c1"
    assert campaign.publish_where_lacking(own)
    written = {path: path.stat().st_mtime_ns for path in files.iterdir()}
    assert not campaign.publish_where_lacking(own)
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == written

    bucket = Destination.model_validate({"to": "s3", "bucket": "reports", "region": "eu-west-1"})
    publish = MagicMock(side_effect=[PublishError("out of reach"), "s3://reports/c1"])
    s3 = MagicMock(place="s3://reports", publish=publish)
    monkeypatch.setattr(
        stored_module, "publisher_of", lambda to, *_: s3 if to == bucket else publisher_of(to, *_)
    )
    with pytest.raises(PublishError, match=r"s3://reports: out of reach(.|\n)*benchlab publish c1"):
        campaign.publish_where_lacking([*own, bucket])
    assert campaign.publish_where_lacking([*own, bucket])
    assert not campaign.publish_where_lacking([*own, bucket])
    assert campaign.published()["s3://reports"] == "s3://reports/c1"


@pytest.fixture
def a_sign_is_turned(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The table of the report has every change with the other sign; returns what mends it."""
    honest = json_text.to_json

    def turned(*of: Any) -> Any:
        document = honest(*of)
        for workload in document["workloads"]:
            workload["estimate_pct"] *= -1
        return document

    monkeypatch.setattr(json_text, "to_json", turned)
    return lambda: monkeypatch.setattr(json_text, "to_json", honest)


@pytest.mark.usefixtures("a_sign_is_turned")
@pytest.mark.parametrize("stage", [StoredCampaign.validate, StoredCampaign.publish])
def test_an_unsound_report_is_a_draft_and_nowhere_else(
    campaign: StoredCampaign, stage: Callable[[StoredCampaign], object]
) -> None:
    """The error names table, row and column, where the draft is, and what publishes it."""
    with pytest.raises(UnsoundReportError) as caught:
        stage(campaign)
    said = str(caught.value)
    where = "table decisions, row oltp_update_index, tps, column estimate_pct"
    assert re.search(rf"{where}: 20(\.\d+)? found, = -20(\.\d+)? expected", said)
    assert f"draft in {campaign.directory / 'draft'}" in said
    assert "`benchlab publish c1` validates and publishes" in said
    assert "this report is a draft" in (campaign.directory / "draft" / "report.md").read_text()
    assert not campaign.home.reports.exists()
    assert campaign.published() == {}
    assert campaign.store.listing.summaries()[0].verdicts == ()


@pytest.mark.usefixtures("a_sign_is_turned")
def test_the_verdict_of_an_unsound_report_is_red(campaign: StoredCampaign) -> None:
    """It says why, and not only that nothing was published; the campaign itself is complete."""
    with pytest.raises(UnsoundReportError):
        campaign.validate()
    with pytest.raises(UnsoundReportError, match="column estimate_pct"):
        campaign.verdict()
    assert campaign.store.campaign("c1").state == "complete"


def test_once_the_cause_is_mended_it_is_published(
    campaign: StoredCampaign, a_sign_is_turned: Callable[[], None]
) -> None:
    """By the same stages; no draft stays, and the results are kept and published as JSON."""
    with pytest.raises(UnsoundReportError):
        campaign.validate()
    a_sign_is_turned()
    campaign.validate()
    campaign.publish()
    campaign.verdict()
    assert not (campaign.directory / "draft").exists()
    kept = campaign.directory / "validation.json"
    assert kept.read_bytes() == (campaign.home.reports / "c1" / kept.name).read_bytes()


def test_what_was_validated_is_not_validated_again(
    campaign: StoredCampaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless something has changed: it takes seconds."""
    asked: list[object] = []
    honest = run.check

    def counted(found: Sequence[Table]) -> Validation:
        asked.append(found)
        return honest(found)

    monkeypatch.setattr(run, "check", counted)
    campaign.validate()
    campaign.publish()
    campaign.publish()
    assert len(asked) == 1
    again = campaigns.trial_result(campaign.plan.trials[0], attempt=2)
    campaign.store.add_trial("c1", again)
    campaign.publish()
    assert len(asked) == 2


def test_the_evidence_of_a_validated_report_holds_without_great_expectations(
    campaign: StoredCampaign,
) -> None:
    """What was found is part of the report, which is rendered again from it."""
    campaign.publish()
    bundle = campaign.home.reports / "c1" / "evidence.zip"
    code = (
        "import sys; sys.modules['great_expectations'] = None\n"
        "from pathlib import Path; from benchlab.report import evidence\n"
        f"print(evidence.verify(Path({str(bundle)!r})).to_json())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "validation.json" not in said.stdout
    assert "report.md" not in said.stdout
