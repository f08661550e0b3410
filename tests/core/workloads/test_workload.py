"""A workload is one file, and needs no other line of code."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab import workloads
from benchlab.campaign import fit
from benchlab.plan.fields.client import Client
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.workload import Workload
from tests.builders import plans
from tests.machine import PROJECT
from tests.ports import free_port

NAME = "short_ranges"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workload]:
    """The guide's example, beside Benchlab's own modules."""
    guide = (PROJECT / "docs/guide/workloads.md").read_text(encoding="utf-8")
    (text,) = re.findall(rf"as `{NAME}\.py`:\n\n```python\n(.+?)```\n", guide, re.DOTALL)
    (tmp_path / f"{NAME}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    workloads.by_name.cache_clear()
    yield workloads.by_name()[NAME]
    workloads.by_name.cache_clear()
    del sys.modules[f"benchlab.workloads.{NAME}"]


def test_the_workload_in_the_guide_is_whole(module: Workload, tmp_path: Path) -> None:
    """A report type can be written with it, and sysbench knows all of its options."""
    fit.check(plans.spec(workloads=[NAME]), "x")
    contract = (*vars(Workload), *Workload.__annotations__)
    assert {name for name in contract if not name.startswith("_")} <= set(dir(module))
    config = tmp_path / "client.cnf"
    to = Endpoint("127.0.0.1", free_port(), "bench", "secret", module.DATABASE)
    config.write_text(module.config_file_text(to))
    session = Session(to, str(config), plans.spec().dataset, 1, Client())
    load, run = module.prepare_command(session), module.run_command(NAME, session, seconds=1)
    for command in (load, run):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "error 2002" in done.stdout + done.stderr, "nobody listens; all else is right"
    with pytest.raises(ValueError, match="'oltp_insert' is not one of short_ranges"):
        module.run_command("oltp_insert", replace(session, threads=2), seconds=1)
