"""What sysbench would refuse, or measure wrongly, is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.campaign import fit
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan.fields.client import Client
from benchlab.workloads.sysbench_faults import OWNED, faults
from benchlab.workloads.sysbench_options import SYSBENCH_1_1
from tests.builders import plans

OPTIONS: dict[str, Any] = {"rand-spec-pct": 20, "skip-trx": True, "db-ps-mode": "disable"}


def test_what_sysbench_has_can_be_chosen() -> None:
    """Options of all scripts and of one, by the version that is named."""
    client = {"rand_type": "special", "options": {**OPTIONS, "delta": 9}}
    assert not [*faults(plans.spec(workloads=["select_random_ranges"], client=client))]
    newer = {"version": "1.1.0-ead2689", "path": "/opt/sysbench", "rand_type": "zipfian"}
    assert not [*faults(plans.spec(client={**newer, "options": {"rand-zipfian-exp": 0.9}}))]


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ({"rand_type": "zipfian"}, "client.rand_type: zipfian: sysbench 1.0.20 has uniform, "),
        ({"options": {"rand-zipfian-exp": 1}}, "sysbench 1.0.20 has none for oltp_point_select"),
        ({"options": {"delta": 9}}, "client.options.delta: sysbench 1.0.20 has none for oltp_"),
        ({"options": {"threads": 9}}, "client.options.threads: cannot be chosen: write `threads`"),
        ({"options": {"mysql-password": "x"}}, "Benchlab connects the client to the side"),
        ({"path": "/opt/sysbench"}, "client.version: missing; write which sysbench /opt/sysbench"),
        ({"version": "0.5.0"}, "client.version: 0.5.0: Benchlab knows sysbench 1.0.* and 1.1.*"),
        ({"script": {"path": "a.lua"}}, "client.script: no workload runs it; write lua_reads or"),
    ],
)
def test_a_choice_that_cannot_be_is_named(client: dict[str, Any], said: str) -> None:
    """By its field, with what could be written instead."""
    (fault,) = faults(plans.spec(client=client))
    assert said in fault


def test_every_option_that_is_owned_is_one_of_sysbench() -> None:
    """A misspelt name among them would refuse nothing."""
    assert OWNED.keys() <= SYSBENCH_1_1


def test_deletes_need_the_rows_back() -> None:
    """Else the second trial looks for rows that the first one deleted."""
    for restore, refused in (("every_trial", 0), ("after_writes", 0), ("never", 1)):
        found = [*faults(plans.spec(workloads=["oltp_delete"], restore=restore))]
        assert len(found) == refused
    spec = plans.spec(workloads=["oltp_delete"])
    assert "From 8,000 deletes a second on, more than a third" in "\n".join(
        map(str, plans.plan_in(find(), spec, "mariadb", "c1").warnings)
    )


def test_other_clients_have_no_options_of_sysbench() -> None:
    """They would be ignored, and the report would say that they were used."""
    tpcc = {"workloads": ["tpcc"], "dataset": {"warehouses": 2}}
    with pytest.raises(SpecError, match=r"client\.rand_type: only sysbench's workloads have one"):
        fit.check(plans.spec(**tpcc, client={"rand_type": "special"}), "x.yaml")
    with pytest.raises(SpecError, match=r"client\.program: missing; client\.path and client\.ver"):
        fit.check(plans.spec(**tpcc, client={"path": "/opt/go-tpc"}), "x.yaml")


def test_what_is_not_chosen_is_not_written() -> None:
    """A report type says only what was chosen."""
    assert Client().model_dump() == {"program": None, "report_interval": 1, "auto_inc": True}
