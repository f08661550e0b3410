"""A bisection with real servers, from an empty store to the release."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchlab import engines, home
from tests.machine import Machine

OLD, MIDDLE, NEW = "10.2.11", "10.11.5", "11.4.5"
# Releases before 10.11.5 wait at every commit. Real servers and parameters, and a change that is
# there however busy the machine is.
SLOW = [
    {
        "until": MIDDLE,
        "parameters": {
            "log_bin": "ON",
            "binlog_commit_wait_count": 100,
            "binlog_commit_wait_usec": 20_000,
        },
    }
]


def bisect(machine: Machine) -> dict[str, Any]:
    """`benchlab bisect --json`; its progress, which comes first, is passed over."""
    settings = machine.settings(
        rounds=3, seconds=3, restore="never", engines__mariadb__by_version=SLOW
    )
    at = next(at for at, part in enumerate(settings) if part.startswith("workloads="))
    del settings[at - 1 : at + 1]  # --workload says it
    output = machine.run(
        *("benchlab.cli.main", "bisect", OLD, NEW, "--report", "sysbench_local_releases"),
        *("--workload", "oltp_update_index", "--json"),
        *settings,
    )
    document = f"\n{output}".partition("\n{\n")[2]
    found: dict[str, Any] = json.loads("{" + document)
    return found


@pytest.mark.long  # core/cli/test_bisect has the campaigns, test_backfill an answer of real servers
def test_two_campaigns_name_the_release_and_are_not_run_again(machine: Machine) -> None:
    """The ends and the middle; what is found then is found in the store."""
    engines.install("mariadb", NEW, home.find())
    found = bisect(machine)
    assert (found["outcome"], found["release"], found["predecessor"]) == ("named", MIDDLE, OLD)
    assert found["change"]["ci95_pct"][0] > 0
    assert [
        (comparison["baseline"], comparison["candidate"]) for comparison in found["comparisons"]
    ] == [
        (OLD, MIDDLE),
        (OLD, NEW),
    ]
    assert all(comparison["new"] for comparison in found["comparisons"])
    assert machine.holder() is None
    with machine.store() as store:
        assert len(store.campaign_ids()) == 2
    again = bisect(machine)
    assert again["sentence"] == found["sentence"]
    with machine.store() as store:
        assert len(store.campaign_ids()) == 2
