"""One campaign and its bundle, made once for all tests of evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.report import evidence
from benchlab.report.evidence import Verification
from benchlab.results.store import Store
from tests.builders.evidence import add_campaign, bundle_of


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with the campaign in it."""
    home = tmp_path_factory.mktemp("store")
    with Store(f"sqlite:///{home}/results.db", UPath(home / "objects")) as opened:
        add_campaign(opened)
        yield opened


@pytest.fixture(scope="session")
def good(store: Store) -> bytes:
    """A bundle that holds."""
    return bundle_of(store)


@pytest.fixture
def verified(tmp_path: Path) -> Callable[..., Verification]:
    """Verifies the bytes of a bundle."""

    def verify(content: bytes) -> Verification:
        path = tmp_path / "evidence.zip"
        path.write_bytes(content)
        return evidence.verify(path)

    return verify
