"""What is written into the note of a run; that it is the answer, tests with a scheduler see."""

from __future__ import annotations

from tests.airflow.conftest import told

NOTES = """
from types import SimpleNamespace
from benchlab_airflow.messages import run_note
run_note._answer = {"measured": "1 workload: 1 regression", "long": "x" * 2000}.get
run_note._answer = (lambda answers: lambda run: answers(run.name))(run_note._answer)
for name, note in (("measured", None), ("measured", "my own"), ("long", None), ("silent", None)):
    run = SimpleNamespace(name=name, note=note)
    run_note.on_dag_run_failed(run)
    say(run.note if name != "long" else len(run.note))
"""


def test_a_persons_own_note_stays_and_silence_has_none(airflow_env: dict[str, str]) -> None:
    """A long answer is cut at Airflow's limit."""
    assert told(NOTES, airflow_env) == ["1 workload: 1 regression", "my own", "1000", "None"]
