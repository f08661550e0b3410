"""The consistency conditions of TPC-C, checked by SQL for all warehouses at once.

They come from the TPC-C standard, revision 5.11, clause 3.3.2: conditions 1 to 4, which a tester
has to demonstrate, and for few warehouses condition 10, which reads every customer. Tables and
columns have go-tpc's names; its ``orders`` is the standard's ORDER. go-tpc's ``tpcc/check.go``
has the same conditions, one warehouse at a time.

Each statement returns one number: how many warehouses, districts or customers violate the
condition. Conditions 1 to 4 read each table once and aggregate it before they compare, so that they
are quick at thousands of warehouses. Many warehouses are divided into ranges, which are checked
concurrently; every primary key begins with the warehouse. Two tables are compared by UNION ALL and
GROUP BY, not by a join, which would miss rows that one of them lacks. All amounts are DECIMAL, so
they are compared exactly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from benchlab.errors import BenchlabError
from benchlab.results.records import Condition
from benchlab.workloads.workload import Query

# Checking each customer takes time and memory: the most warehouses for which it is done.
CUSTOMERS_CHECKED_UP_TO = 10

# In go-tpc's schema `history` has no index on the customer; without one, condition 10 reads all
# payments of a warehouse once for each of its 30,000 customers.
INDEX = "benchlab_h_customer"
CREATE_INDEX = f"CREATE INDEX {INDEX} ON history (h_c_w_id, h_c_d_id, h_c_id)"
# IF EXISTS: a check that was killed may or may not have left the index.
DROP_INDEX = f"ALTER TABLE history DROP INDEX IF EXISTS {INDEX}"

# The number of ranges, and of concurrent statements, for many warehouses: a single statement would
# keep only a part of the storage's threads busy.
AT_ONCE = 8
# The smallest and the largest INT, so that rows of a warehouse that does not exist count as well.
_LEAST, _MOST = -(2**31), 2**31 - 1


class _Asked(NamedTuple):
    """A condition, with the statement that counts its violations.

    ``{range}`` in the statement stands for the range of warehouses.
    """

    clause: str
    sentence: str
    statement: str


CONDITIONS = (
    _Asked(
        "3.3.2.1",
        "in every warehouse W_YTD is the sum of its districts' D_YTD",
        """
        SELECT COUNT(*) FROM (
          SELECT w_id, SUM(w_ytd) AS of_warehouse, SUM(d_ytd) AS of_districts FROM (
            SELECT w_id, w_ytd, NULL AS d_ytd FROM warehouse WHERE w_id {range}
            UNION ALL SELECT d_w_id, NULL, SUM(d_ytd) FROM district WHERE d_w_id {range}
            GROUP BY d_w_id
          ) AS amounts GROUP BY w_id
        ) AS warehouses WHERE (of_warehouse = of_districts) IS NOT TRUE
        """,
    ),
    # As in the standard, a district without outstanding orders is not compared with NEW-ORDER.
    _Asked(
        "3.3.2.2",
        "in every district D_NEXT_O_ID - 1 is the largest O_ID, and the largest NO_O_ID if any",
        """
        SELECT COUNT(*) FROM (
          SELECT w_id, d_id, MAX(next_o_id) - 1 AS latest, MAX(o_id) AS ordered,
            MAX(no_o_id) AS outstanding
          FROM (
            SELECT d_w_id AS w_id, d_id, d_next_o_id AS next_o_id, NULL AS o_id, NULL AS no_o_id
            FROM district WHERE d_w_id {range}
            UNION ALL SELECT o_w_id, o_d_id, NULL, MAX(o_id), NULL
            FROM orders WHERE o_w_id {range} GROUP BY o_w_id, o_d_id
            UNION ALL SELECT no_w_id, no_d_id, NULL, NULL, MAX(no_o_id)
            FROM new_order WHERE no_w_id {range} GROUP BY no_w_id, no_d_id
          ) AS numbers GROUP BY w_id, d_id
        ) AS districts
        WHERE (latest = ordered AND latest = COALESCE(outstanding, latest)) IS NOT TRUE
        """,
    ),
    # Likewise: a district without outstanding orders has no group in this statement.
    _Asked(
        "3.3.2.3",
        "in every district NEW-ORDER has a row for each number from the smallest NO_O_ID to the "
        "largest",
        """
        SELECT COUNT(*) FROM (
          SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS numbers, COUNT(*) AS found
          FROM new_order WHERE no_w_id {range} GROUP BY no_w_id, no_d_id
        ) AS districts WHERE numbers <> found
        """,
    ),
    _Asked(
        "3.3.2.4",
        "in every district ORDER-LINE has as many rows as the sum of O_OL_CNT",
        """
        SELECT COUNT(*) FROM (
          SELECT w_id, d_id, SUM(announced) AS announced, SUM(found) AS found FROM (
            SELECT o_w_id AS w_id, o_d_id AS d_id, SUM(o_ol_cnt) AS announced, NULL AS found
            FROM orders WHERE o_w_id {range} GROUP BY o_w_id, o_d_id
            UNION ALL SELECT ol_w_id, ol_d_id, NULL, COUNT(*)
            FROM order_line WHERE ol_w_id {range} GROUP BY ol_w_id, ol_d_id
          ) AS numbers GROUP BY w_id, d_id
        ) AS districts WHERE (announced = found) IS NOT TRUE
        """,
    ),
)

BALANCES = _Asked(
    "3.3.2.10",
    "of every customer C_BALANCE is what was delivered (OL_AMOUNT) less what was paid (H_AMOUNT)",
    """
    SELECT COUNT(*) FROM (
      SELECT c_balance, COALESCE((
          SELECT SUM(ol_amount) FROM orders JOIN order_line
          ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
          WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL
        ), 0) AS delivered, COALESCE((
          SELECT SUM(h_amount) FROM history
          WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
        ), 0) AS paid
      FROM customer
    ) AS customers WHERE (c_balance = delivered - paid) IS NOT TRUE
    """,
)


def check(query: Query) -> tuple[Condition, ...]:
    """Count the violations of each condition; the schema is left as it was.

    Condition 10 is checked for at most ``CUSTOMERS_CHECKED_UP_TO`` warehouses.

    Args:
        query: runs one statement and returns its rows; called from several threads if there are
            more warehouses than that. Its errors are passed on.

    Example:
        ``all(condition.violations == 0 for condition in check(query))``
    """
    warehouses = _number(query, "SELECT COUNT(*) FROM warehouse")
    few = warehouses <= CUSTOMERS_CHECKED_UP_TO
    parts = ranges(warehouses, 1 if few else AT_ONCE)
    statements = [asked.statement.format(range=part) for asked in CONDITIONS for part in parts]
    with ThreadPoolExecutor(1 if few else AT_ONCE, thread_name_prefix="conditions") as pool:
        numbers = list(pool.map(partial(_number, query), statements))
    found = [
        Condition(asked.clause, asked.sentence, sum(numbers[n * len(parts) : (n + 1) * len(parts)]))
        for n, asked in enumerate(CONDITIONS)
    ]
    if few:
        with _index(query):
            violations = _number(query, BALANCES.statement)
        found.append(Condition(BALANCES.clause, BALANCES.sentence, violations))
    return tuple(found)


def ranges(warehouses: int, number: int) -> list[str]:
    """SQL conditions that divide all numbers into ranges with about equally many warehouses.

    Example:
        ``ranges(100, 2)`` is ``["BETWEEN -2147483648 AND 50", "BETWEEN 51 AND 2147483647"]``.
    """
    ends = [warehouses * part // number for part in range(1, number)]
    firsts, lasts = [_LEAST, *(end + 1 for end in ends)], [*ends, _MOST]
    return [f"BETWEEN {first} AND {last}" for first, last in zip(firsts, lasts, strict=True)]


def _number(query: Query, statement: str) -> int:
    ((number,),) = query(" ".join(statement.split()))
    return int(str(number))


@contextlib.contextmanager
def _index(query: Query) -> Iterator[None]:
    """Create the index on ``history`` and drop it afterwards, so that trials run without it."""
    query(DROP_INDEX)
    query(CREATE_INDEX)
    try:
        yield
    except Exception as error:
        try:
            query(DROP_INDEX)
        except BenchlabError as another:  # the first failure is the one to report
            error.add_note(f"the index {INDEX} is still there: {another}")
        raise
    query(DROP_INDEX)
