"""Stages and phases in the reader's language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from benchlab.campaign.progress import ProgressNote
from benchlab.language import codes, load
from benchlab.plan.steps import Stage
from benchlab.site import page

CORE = Path(__file__).parents[3] / "include" / "benchlab"
# How the code names a phase: of a trial, or of a stage that it notes.
PHASE = re.compile(
    r"""clock\.phase\("([^"]+)"\)|self\.note\("[a-z ]+", f?"([^"{]+?)(?: \{side\})?"[,)]"""
)


def named() -> set[str]:
    """Every phase that the core writes out."""
    texts = [path.read_text() for path in (CORE / "campaign").glob("*.py")]
    found = {"".join(match) for text in texts for match in PHASE.findall(text)}
    # The name of a task that failed is no phase, and is in the log.
    return found - {"evidence", "validate"}


@pytest.mark.parametrize("code", codes())
def test_every_stage_and_phase_has_words_in_every_language(code: str) -> None:
    """A new one cannot be forgotten, also where nobody looks at the page while it lasts."""
    language, found = load(code), named()
    stages = [name for part in get_args(Stage) for name in get_args(part)]
    assert {"restore", "warm-up", "back up", "wait until it is free"} <= found
    slugs = [f"phase-{re.sub('[^a-z]+', '-', name)}" for name in found]
    slugs += [f"stage-{name.replace(' ', '-')}" for name in (*stages, "failed")]
    assert [slug for slug in slugs if not language.has(slug)] == []


def test_a_step_is_said_with_its_side_and_recorded_text_as_it_is() -> None:
    """In Chinese nothing of the progress is left in English, except what no language has."""
    loads = ProgressNote(0.0, "prepare", "load candidate")
    assert page.step(loads, load("en")) == "prepare · load candidate"
    assert page.step(loads, load("zh")) == "准备 · 导入数据（候选）"
    judged = ProgressNote(0.0, "verdict", "tpcc: regression")
    assert page.step(judged, load("zh")) == "结论 · tpcc: regression"


@pytest.mark.parametrize(
    ("name", "en", "zh"),
    [
        ("give_back", "give back", "归还"),
        ("prepare_first.back_up", "back up", "创建快照"),
        ("deploy_second", "deploy", "部署"),
        ("repeat_2.find_invalid", "find invalid trials", "查找无效试验"),
        ("check_consistency", "check consistency", "检查一致性"),
        ("check after last trial baseline", "check after last trial baseline", "最后一次"),
        ("compare", "compare", "比较"),
    ],
)
def test_what_failed_is_said_whether_a_stage_or_a_task_of_airflow_s(
    name: str, en: str, zh: str
) -> None:
    """Neither the id of a task nor an English word on a Chinese page."""
    assert page.failed_stage(name, load("en")) == en
    assert page.failed_stage(name, load("zh")).startswith(zh)
