"""Workers on several machines share Benchlab's home; one that does not refuses, before anything."""

from __future__ import annotations

import socket

import pytest

from tests.airflow.test_approval import ask, said

__all__ = ["ask"]

STAGES = {
    "register": "stages.register()",
    "trials": "stages.measure(1)",
    "publish": "stages.publish()",
    "give_back": 'stages.give_back("local")',
}


@pytest.mark.parametrize("task", STAGES)
def test_a_worker_without_the_campaigns_directory_does_nothing(
    ask: dict[str, str], task: str
) -> None:
    """It names directory and both machines, is no success, and writes nothing."""
    lines = said(
        ask,
        f"""
import os
here = home.find()
os.environ["BENCHLAB_HOME"] = str(here.root.with_name("of-another-machine"))
try:
    say(repr({STAGES[task]}))
except Exception as error:
    say(type(error).__name__, error)
say(home.find().root.exists())
# The same path, but not the same directory: each machine has its own.
os.environ["BENCHLAB_HOME"] = str(here.root)
(here.campaign("c1") / "proof").write_text("another")
try:
    say(repr({STAGES[task]}))
except Exception as error:
    say(type(error).__name__, error)
""",
        "baseline=v6.1.0",
        "candidate=v6.5.0",
    )
    name = socket.gethostname()
    for refused, home in ((lines[0], "of-another-machine"), (lines[-1], "benchlab")):
        assert refused.split()[0] in ("ElsewhereError", "AirflowFailException")
        assert f"/{home}/campaigns/c1 on {name} is not the directory in which" in refused
        assert f"campaign c1 was begun on {name}: nothing was done" in refused
    assert lines[1] == "False"
