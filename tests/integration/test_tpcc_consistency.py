"""TPC-C's conditions on real tables: those that hold, and each of them broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.engines.mariadb import Engine
from benchlab.errors import CommandError
from benchlab.workloads import tpcc_consistency
from tests import warehouses
from tests.machine import VERSIONS

GO_TPCS = {"idx_h_w_id", "idx_h_c_w_id"}


@pytest.fixture(scope="module", params=VERSIONS)
def running(
    request: pytest.FixtureRequest, servers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A server of each release."""
    folder = tmp_path_factory.mktemp("server")
    with warehouses.running(request.param, servers, folder) as found:
        yield found


@pytest.fixture
def server(running: Engine) -> Engine:
    """The same with consistent warehouses."""
    running.sql(warehouses.CREATE)
    return running


def check(server: Engine) -> tuple[int, ...]:
    """The violations of each condition."""
    found = tpcc_consistency.check(warehouses.through_client(server))
    assert tuple(condition.clause for condition in found) == warehouses.CLAUSES
    return tuple(condition.violations for condition in found)


def test_consistent_warehouses_are_found_to_be(server: Engine) -> None:
    """A district without outstanding orders is none of the exceptions."""
    assert check(server) == warehouses.CONSISTENT
    assert warehouses.indexes(server) == GO_TPCS


@pytest.mark.parametrize("how", warehouses.BROKEN)
def test_what_is_broken_is_found_and_counted(server: Engine, how: str) -> None:
    """As often as it is broken, by the conditions that are about it; the index is gone again."""
    statement, violations = warehouses.BROKEN[how]
    server.sql(f"USE {warehouses.DATABASE}; {statement}")
    assert check(server) == violations
    assert warehouses.indexes(server) == GO_TPCS


def test_a_check_that_fails_leaves_no_index(server: Engine) -> None:
    """Nor does one that was killed keep the next from being made."""
    server.sql("ALTER TABLE tpcc.customer CHANGE c_balance renamed DECIMAL(12,2)")
    with pytest.raises(CommandError, match="c_balance"):
        check(server)
    assert warehouses.indexes(server) == GO_TPCS
    server.sql("ALTER TABLE tpcc.customer CHANGE renamed c_balance DECIMAL(12,2)")
    server.sql(f"USE tpcc; {tpcc_consistency.CREATE_INDEX}")
    assert check(server) == warehouses.CONSISTENT
    assert warehouses.indexes(server) == GO_TPCS


def test_the_checksum_does_not_see_that_there_was_an_index(server: Engine) -> None:
    """A check between analyze and snapshot leaves the dataset what it was."""
    tables = ["history", "customer"]
    before = server.checksum(tables)
    check(server)
    assert server.checksum(tables) == before
