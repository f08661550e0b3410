"""A campaign that a command of the command line drives, from its first stage to its report."""

from __future__ import annotations

import os
import signal
import sys
from datetime import date
from pathlib import Path
from typing import NoReturn

from benchlab import campaign as campaigns
from benchlab.campaign import CampaignRun
from benchlab.home import Home
from benchlab.progress_view import ProgressView
from benchlab.schedule import midnight
from benchlab.spec import ReportSpec
from benchlab.store import Store


def drive(
    home: Home,
    store: Store,
    spec: ReportSpec,
    campaign: str,
    origin: str,
    planned_for: date | None = None,
) -> tuple[CampaignRun, list[Path]]:
    """Run a campaign in this process, with its progress on standard error.

    A signal that ends the process ends the campaign first; when the process is gone, the machine
    is free again.

    Args:
        campaign: its id; that of one in the store goes on with it.
        origin: the command, as the store keeps it.
        planned_for: the day whose versions it compares; None: now.

    Returns:
        The campaign, and its report's files.
    """
    os.environ["BENCHLAB_DRIVER"] = str(os.getpid())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    at = midnight(planned_for) if planned_for else None
    work = CampaignRun.create(home, store, spec, campaign, origin, planned_for=at)
    print(f"engine {work.plan.engine}: {work.campaign.engine_reason}", file=sys.stderr)
    with ProgressView(work.progress, work.plan.minutes * 60, sys.stderr):
        paths = campaigns.run(work)
    return work, paths


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
