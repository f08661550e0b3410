"""The task `validate`: what it hands on, and what it survives."""

from __future__ import annotations

import json

from tests.airflow.conftest import told

STAGE = """
import contextlib, json
from types import SimpleNamespace
from benchlab.analysis.gates.data_docs import DataDocsError, GateOutcome, Validation
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


def test_the_task_hands_on_how_often_each_gate_failed(airflow_env: dict[str, str]) -> None:
    """Beside what is missing, repeated and excluded; failures over the campaign are warnings."""
    found = (
        "return Validation({}, (GateOutcome('clock', 'trials', 'validity', 's', 5, 2, 1),), "
        "('tpcc, tpmc: gate headroom: too busy',))"
    )
    returned, heard = validated(airflow_env, found)
    assert returned == {
        "missing": ["t1"],
        "repeated_pairs": 2,
        "excluded": 0,
        "gates": {"trials: clock": {"passed": 5, "failed": 2, "not_evaluated": 1}},
    }
    assert heard == ["tpcc, tpmc: gate headroom: too busy"]


def test_the_report_is_published_where_the_data_docs_fail(airflow_env: dict[str, str]) -> None:
    """The task says so and succeeds: `publish` comes after it."""
    returned, heard = validated(airflow_env, "raise DataDocsError('validate: no data docs: why')")
    assert isinstance(returned, dict)
    assert returned["gates"] == {}
    assert heard == ["the report will be without data docs: validate: no data docs: why"]
