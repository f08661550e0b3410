"""States of campaigns that run, reached as their stages reach them."""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.campaign.state import StateFile
from benchlab.plan.report_type import SIDES, Side

STAGES = ("deploy", "load", "analyze", "back up")


def provisioned(state: StateFile) -> None:
    """A campaign that has its hosts, and nothing on them."""
    state.path.parent.mkdir(parents=True, exist_ok=True)
    state.register()
    state.begin("provision")
    state.to("end provision")


def prepared(
    state: StateFile,
    sides: Sequence[Side] = SIDES,
    deployment: int = 1,
    stages: Sequence[str] = STAGES,
) -> None:
    """Sides of a campaign that has its hosts, after these stages."""
    for side in sides:
        for stage in stages:
            facts = {"deployment": deployment} if stage == "deploy" else {}
            state.begin(stage, side, **facts)
            state.to(f"end {stage}", side)


def measured(state: StateFile, side: Side) -> None:
    """A side whose data are what a finished trial left."""
    for transition in ("try", "measure"):
        state.to(transition, side, trial="any", attempt=1)
