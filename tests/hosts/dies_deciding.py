"""`benchlab` in a process that SIGKILL ends between a screening's decision and its being stored.

What was decided is printed before: ``python -m tests.hosts.dies_deciding run ...``.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from benchlab.campaign.watching import Watching
from benchlab.cli.main import app
from benchlab.results import screening
from benchlab.results.screening import Screening

_decide = Watching.decide


def _decide_and_die(self: Watching, *arguments: Any) -> Screening:
    print(screening.as_text(_decide(self, *arguments)), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL ends a process")


if __name__ == "__main__":
    Watching.decide = _decide_and_die  # type: ignore[assignment, method-assign]
    app()
