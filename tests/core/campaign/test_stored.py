"""The verdict of a campaign in the store says what is missing, and nothing else."""

from __future__ import annotations

import pytest

from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import NotMeasuredError
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
