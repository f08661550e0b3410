"""The task `validate`: what it hands on."""

from __future__ import annotations

import json

from tests.airflow.conftest import told

STAGE = """
import contextlib, json
from types import SimpleNamespace
from benchlab_airflow.dags import stages

class Work:
    def outcome(self):
        return SimpleNamespace(comparison=SimpleNamespace(
            excluded=(), not_evaluated=(), missing=("t1",), repeated_pairs=2))
    def validate(self, outcome):
        FOUND

@contextlib.contextmanager
def campaign():
    yield Work()

stages._campaign = campaign
heard = []
stages.log.warning = stages.log.error = lambda text, *words: heard.append(text % words)
say(json.dumps(stages.validate()))
say(json.dumps(heard))
"""


def validated(env: dict[str, str], found: str) -> list[object]:
    """What the task returns and what it warns of, where its campaign finds this."""
    return [json.loads(line) for line in told(STAGE.replace("FOUND", found), env)]


def test_the_task_hands_on_what_is_missing(airflow_env: dict[str, str]) -> None:
    """Beside what is repeated and excluded; gates that failed over the campaign are warnings."""
    returned, heard = validated(airflow_env, "return ['tpcc: gate headroom: too busy']")
    assert returned == {"missing": ["t1"], "repeated_pairs": 2, "excluded": 0}
    assert heard == ["tpcc: gate headroom: too busy"]
