"""Causes planted on real servers: are their counts among the first of what changed with it?"""

from __future__ import annotations

import json

from tests.machine import Machine

SAME = {"baseline": "10.11.5", "candidate": "10.11.5", "deployments": 1}


def test_commits_that_wait_for_no_disk_are_named_with_the_change_that_they_make(
    machine: Machine,
) -> None:
    """The candidate leaves the log to the operating system: fewer fsyncs, and more updates.

    The report says so, and its bundle can be verified.
    """
    machine.run(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "no-waiting"),
        *machine.settings(
            **SAME,
            workloads="oltp_update_index",
            engines__mariadb__baseline__parameters=json.dumps(
                {"innodb_flush_log_at_trx_commit": 1}
            ),
            engines__mariadb__candidate__parameters=json.dumps(
                {"innodb_flush_log_at_trx_commit": 0}
            ),
            rounds=4,
            seconds=2,
        ),
    )
    report = machine.here.reports / "no-waiting"
    found = json.loads((report / "report.json").read_text())
    assert found["workloads"][0]["verdict"] == "improvement"
    moved = found["workloads"][0]["moved"]
    first = [
        one["count"] for cluster in moved["clusters"][:3] for one in (cluster, *cluster["members"])
    ]
    assert {"fsyncs", "redo_writes"} & set(first), moved
    assert "What else changed" in (report / "report.md").read_text()
    verified = machine.verified("no-waiting")
    assert verified.outcome == "holds", verified.lines()
