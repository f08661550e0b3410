"""Installations that several test files use."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.installation import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """An installation of the test's own."""
    return Here(tmp_path)


@pytest.fixture
def stored(here: Here) -> Here:
    """An installation with a whole campaign in its store."""
    campaign = campaigns.campaign(rounds=4)
    with Store(here.home.store_url, here.home.objects) as store:
        store.add_campaign(campaign)
        change = campaigns.known_change({"oltp_update_index": -0.2}, 0.002)
        for result in campaigns.results_of(campaign.plan, change):
            store.add_trial(campaign.id, result)
    return here
