"""What `make demo` shows at its end, without Airflow."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import report_types
from benchlab.campaign.outcome import Comparer
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.results.store import Store
from benchlab_airflow.local import demo
from tests.builders import campaigns, plans

PROJECT = Path(__file__).parents[2]


def unreadable(*_: Any) -> None:
    """As `Comparer.outcome` where a gate is not valid."""
    raise SpecError("configs/quality/trial.yaml: clok: unknown key")


@pytest.mark.parametrize(("exit_code", "failed"), [(0, False), (1, True)])
def test_what_failed_is_said_even_if_nothing_can_be_compared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    exit_code: int,
    failed: bool,
) -> None:
    """The error is one line, and the paths and the failed tasks follow it."""
    here = Home(PROJECT, tmp_path)
    spec = report_types.load(PROJECT / "configs" / "reports" / "sysbench_local.yaml")
    run = demo.Demo(
        here, plans.resolved_in(here, spec, "mariadb"), {}, datetime(2026, 1, 2, tzinfo=UTC)
    )
    with Store(here.store_url, here.objects) as store:
        store.add_campaign(campaigns.campaign(id=run.campaign))
    run.log.parent.mkdir(parents=True)
    run.progress.note("failed", "publish", "no space left")
    page = here.reports / run.campaign / "report.md"
    page.parent.mkdir(parents=True)
    page.touch()
    monkeypatch.setattr(Comparer, "outcome", unreadable)
    assert demo._report(run, exit_code) == 1
    said = capsys.readouterr()
    first, then = said.out.splitlines()
    assert first == str(page)
    assert then.startswith("`make up` starts Airflow's UI")
    assert said.err.startswith("error: configs/quality/trial.yaml: clok: unknown key\n")
    assert ("error: task publish: no space left" in said.err) == failed
