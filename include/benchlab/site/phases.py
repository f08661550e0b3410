"""Stages and phases of a campaign in the reader's language; its progress has them in English.

Example:
    ``phase("load candidate", load("zh"))`` is ``导入数据（候选）``.
"""

from __future__ import annotations

import re

from benchlab.campaign.progress import ProgressNote
from benchlab.language import Language, side_name
from benchlab.plan.report_type import SIDES


def stage(name: str, language: Language) -> str:
    """A stage: ``give back``."""
    return _said("stage", name, language)


def phase(name: str, language: Language) -> str:
    """A part of a stage or of a trial; as recorded where it is a text of its own."""
    side = next((side for side in SIDES if name.endswith(f" {side}")), None)
    if side is None:
        return _said("phase", name, language)
    what = _said("phase", name.removesuffix(f" {side}"), language)
    return language.say("phase-of-side", phase=what, side=language.text(side_name(side)))


def step(noted: ProgressNote, language: Language) -> str:
    """Where a campaign is: ``prepare · load candidate``."""
    return f"{stage(noted.stage, language)} · {phase(noted.phase, language)}"


def _said(kind: str, name: str, language: Language) -> str:
    message = f"{kind}-{re.sub('[^a-z]+', '-', name)}"
    return language.say(message) if language.has(message) else name
