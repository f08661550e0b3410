"""One campaign and its bundle, made once for all tests of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.report import evidence
from benchlab.report.charts import charts
from benchlab.report.evidence import Verification
from benchlab.report.model.report import Report
from benchlab.results.store import Store
from tests.builders.evidence import add_campaign, bundle_of

DRAWN: dict[str, Mapping[str, bytes]] = {}


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    """Charts of equal reports are drawn once: drawing is most of the time."""
    draw = charts.draw

    def remembered(report: Report) -> Mapping[str, bytes]:
        points = [
            side.by_round("tps")
            for section in report.sections
            for cell in section.figures.cells
            for side in cell.sides.values()
        ]
        key = f"{report.sections!r} {report.sides!r} {report.language.code} {points}"
        if key not in DRAWN:
            DRAWN[key] = draw(report)
        return DRAWN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "draw", remembered)
        yield


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
