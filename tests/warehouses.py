"""Two small warehouses on a real MariaDB, consistent until a test breaks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchlab.engines.database import Database
from benchlab.engines.mariadb import Engine
from benchlab.engines.server import Instance
from benchlab.hosts.executor import LocalExecutor
from benchlab.workloads.workload import Query
from tests.ports import free_port

DATABASE = "tpcc"
PASSWORD = "made-up-for-a-test"
CLAUSES = ("3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4", "3.3.2.10")
CONSISTENT = (0, 0, 0, 0, 0)

# Per warehouse 2 districts with 3 customers and 4 orders of 2 lines each. Order 1 is delivered;
# of the second district of the second warehouse all are, so that it has no outstanding ones.
CREATE = """
DROP DATABASE IF EXISTS tpcc; CREATE DATABASE tpcc; USE tpcc;
CREATE TABLE warehouse (w_id INT NOT NULL, w_ytd DECIMAL(12,2), PRIMARY KEY (w_id));
CREATE TABLE district (d_id INT NOT NULL, d_w_id INT NOT NULL, d_ytd DECIMAL(12,2),
  d_next_o_id INT, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL,
  c_balance DECIMAL(12,2), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL,
  h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_amount DECIMAL(6,2),
  INDEX idx_h_w_id (h_w_id), INDEX idx_h_c_w_id (h_c_w_id));
CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT,
  o_carrier_id INT, o_ol_cnt INT, PRIMARY KEY (o_w_id, o_d_id, o_id),
  INDEX idx_order (o_w_id, o_d_id, o_c_id, o_id));
CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL,
  ol_number INT NOT NULL, ol_delivery_d DATETIME, ol_amount DECIMAL(6,2),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
INSERT INTO warehouse VALUES (1, 60.10), (2, 60.10);
INSERT INTO district VALUES (1, 1, 30.05, 5), (2, 1, 30.05, 5), (1, 2, 30.05, 5), (2, 2, 30.05, 5);
INSERT INTO orders SELECT seq, d_id, d_w_id, 1 + seq % 3,
  IF(seq = 1 OR d_id + d_w_id = 4, 7, NULL), 2 FROM district, seq_1_to_4;
INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_carrier_id IS NULL;
INSERT INTO order_line SELECT o_id, o_d_id, o_w_id, seq,
  IF(o_carrier_id IS NULL, NULL, '2024-01-02'), 5.55 FROM orders, seq_1_to_2;
INSERT INTO history SELECT seq, d_id, d_w_id, d_id, d_w_id, 10.01 FROM district, seq_1_to_3;
INSERT INTO customer SELECT seq, d_id, d_w_id, -10.01 + 11.10 * (
  SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_c_id = seq
  AND o_carrier_id IS NOT NULL) FROM district, seq_1_to_3;
"""

# What breaks the conditions, and the violations that are then to be found, by clause as above.
BROKEN = {
    "a cent too much in one warehouse": (
        "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1",
        (1, 0, 0, 0, 0),
    ),
    "a warehouse that is gone": ("DELETE FROM warehouse WHERE w_id = 2", (1, 0, 0, 0, 0)),
    "no amount at all": ("UPDATE warehouse SET w_ytd = NULL", (2, 0, 0, 0, 0)),
    "the next order's number in two districts": (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1",
        (0, 2, 0, 0, 0),
    ),
    "a district that is gone": (
        "DELETE FROM district WHERE d_w_id = 2 AND d_id = 2",
        (1, 1, 0, 0, 0),
    ),
    "the latest outstanding order of one district": (
        "DELETE FROM new_order WHERE no_o_id = 4 AND no_w_id = 1 AND no_d_id = 1",
        (0, 1, 0, 0, 0),
    ),
    "a gap in the outstanding orders of three districts": (
        "DELETE FROM new_order WHERE no_o_id = 3",
        (0, 0, 3, 0, 0),
    ),
    "an undelivered order's line in two districts": (
        "DELETE FROM order_line WHERE ol_o_id = 4 AND ol_number = 2 AND ol_w_id = 1",
        (0, 0, 0, 2, 0),
    ),
    "all lines of one district, an order of which was delivered": (
        "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 1",
        (0, 0, 0, 1, 1),
    ),
    "a cent of one customer in each district": (
        "UPDATE customer SET c_balance = c_balance - 0.01 WHERE c_id = 2",
        (0, 0, 0, 0, 4),
    ),
    "a payment that is not in the history": (
        "DELETE FROM history WHERE h_c_id = 3 AND h_c_w_id = 2 AND h_c_d_id = 2",
        (0, 0, 0, 0, 1),
    ),
}


def database(version: str, servers: Path, folder: Path, port: int, password: str) -> Engine:
    """A side's server with its data in a folder; not started."""
    instance = Instance(
        side="baseline",
        version=version,
        parameters={},
        directory=folder / "baseline",
        host="127.0.0.1",
        port=port,
        status_port=port,
        max_connections=20,
        database=DATABASE,
        password=password,
    )
    return Engine(LocalExecutor(folder, f"warehouses-{port}"), instance, servers)


@contextmanager
def running(version: str, servers: Path, folder: Path) -> Iterator[Engine]:
    """The same, running for as long as the block lasts."""
    server = database(version, servers, folder, free_port(), PASSWORD)
    try:
        server.deploy()
        yield server
    finally:
        server.executor.end_processes()


def through_client(server: Database) -> Query:
    """Statements through the mariadb client."""
    return lambda statement: server.sql(f"USE {DATABASE}; {statement}")


def indexes(server: Database) -> set[str]:
    """The names of the indexes on ``history``."""
    return {row[2] for row in server.sql(f"SHOW INDEX FROM {DATABASE}.history")}
