"""A machine that is slow, as one is that is measured, loses no DAG."""

from __future__ import annotations

import pytest

from tests.airflow.conftest import told

# Airflow's own manager with Benchlab's settings; the clocks are what is made up. A DAG was parsed,
# and after that its file's parse was killed `killed` times in a row, each time after the interval
# and after the other file's parse, which was killed as well.
KILLED = """
import time
from datetime import timedelta
from pathlib import Path
from airflow._shared.timezones import timezone
from airflow.dag_processing.manager import DagFileInfo, DagFileProcessorManager
from airflow.models.dag import DagModel
from airflow.models.dagbundle import DagBundleModel
from airflow.utils.session import create_session

class Slow:
    pid, start_time, had_callbacks = 1, float("-inf"), False
    def kill(self, signal): pass
    def close(self): pass

manager = DagFileProcessorManager(max_runs=-1)
round_s = manager._file_process_interval + 2 * manager.processor_timeout
with create_session() as session:
    if session.get(DagBundleModel, "slow") is None:
        session.add(DagBundleModel(name="slow"))
    session.flush()
    session.merge(DagModel(dag_id="slow", bundle_name="slow", relative_fileloc="slow.py",
        is_stale=False, last_parsed_time=timezone.utcnow() - timedelta(seconds={killed} * round_s)))
file = DagFileInfo(rel_path=Path("slow.py"), bundle_name="slow", bundle_path=Path("/"))
manager._processors[file] = Slow()
manager._kill_timed_out_processors()
stat = manager._file_stats[file]
manager.deactivate_stale_dags(last_parsed={{file: stat.last_finish_time}})
with create_session() as session:
    say(stat.import_errors, session.get(DagModel, "slow").is_stale)
"""


@pytest.mark.fault(
    "parsing the DAGs takes too long twice",
    promise="no DAG is removed",
    of="airflow",
)
def test_two_killed_parses_in_a_row_remove_no_dag(airflow_env: dict[str, str]) -> None:
    """A campaign goes on; a DAG that is really gone is removed later."""
    assert told(KILLED.format(killed=2), airflow_env) == ["1 False"]
    assert told(KILLED.format(killed=4), airflow_env) == ["1 True"]


def test_a_slow_import_is_killed_and_never_an_import_error(airflow_env: dict[str, str]) -> None:
    """An import error removes all DAGs of the file at once, whatever the threshold."""
    code = """
from airflow.configuration import conf
say(conf.getfloat("core", "dagbag_import_timeout")
    > conf.getfloat("dag_processor", "dag_file_processor_timeout"))
"""
    assert told(code, airflow_env) == ["True"]
