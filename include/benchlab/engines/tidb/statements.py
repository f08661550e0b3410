r"""TiDB's statement summary: what statements took of all TiDB servers, with their plans.

Columns: docs.pingcap.com, *Statement Summary Tables*; they differ by version, and what one lacks is
missing. Most are averages, cut to whole numbers. Servers keep a window by the clock, of half an
hour by default, so it is lengthened meanwhile; switching the summary off empties it.

Example:
    ``read_plan("\tid\ttask\testRows\toperator info\n\tPoint_Get_1\troot\t1\ttable:t1, handle:7")``
    is ``(PlanLine("Point_Get", "root", "table:t?, handle:?"),)``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from benchlab.engines.database import Database, sql_value
from benchlab.engines.statements import (
    Executed,
    Plan,
    PlanLine,
    Statements,
    added_up,
    shape,
    without_literals,
)
from benchlab.errors import CommandError, EngineError
from benchlab.language import Said, message
from benchlab.plan import versions
from benchlab.plan.documents import Scalar
from benchlab.plan.fields.engines import Components

SINCE, REPLAYER_SINCE = (4, 0, 0), (5, 3, 0)
OF_SERVER = "information_schema.statements_summary"
OF_CLUSTER = "information_schema.cluster_statements_summary"
SWITCH = "tidb_enable_stmt_summary"
# The longest window that TiDB takes: 68 years, of which the first one ends in 2038.
WANTED: Mapping[str, Scalar] = {
    "tidb_stmt_summary_refresh_interval": 2**31 - 1,
    "tidb_stmt_summary_max_stmt_count": 5000,
}
# Other servers learn of a variable within milliseconds, and at the latest after 30 s.
LEARN_LIMIT_S, POLL_S = 40.0, 0.2
REPLAYER_LIMIT_S = 60


class _Figure(NamedTuple):
    """A figure, its column, and whether this is the average of an execution."""

    name: str
    column: str
    is_average: bool


FIGURES = (
    _Figure("coprocessor_tasks", "sum_cop_task_num", False),
    _Figure("keys_scanned", "avg_total_keys", True),
    _Figure("keys_returned", "avg_processed_keys", True),
    _Figure("keys_written", "avg_write_keys", True),
    _Figure("rows_sent", "avg_result_rows", True),
    _Figure("rows_affected", "avg_affected_rows", True),
    _Figure("memory_bytes", "avg_mem", True),
    _Figure("plans_from_cache", "plan_cache_hits", False),
    _Figure("errors", "sum_errors", False),
)
_NEEDED = ("digest", "digest_text", "exec_count", "sum_latency", "plan", "query_sample_text")
_EXPLAINED = re.compile(r"\s*(select|insert|update|delete|replace|with)\b", re.IGNORECASE)
_ARGUMENTS = re.compile(r"(.*?) \[arguments: (.*)\]", re.DOTALL)
_ARGUMENT = re.compile(r'-?\d+(?:\.\d+)?|"[^"\\]*"|NULL')
_CUT = re.compile(r"\(len:\d+\)\s*$")
_FILE = re.compile(r"[\w=+-]+\.zip")


class TiDBStatements:
    """The statement summary of one side.

    Args:
        database: the side.
        status_url: of the TiDB server that answers its SQL: ``http://10.0.0.1:10080``.
        table: of all servers, or of the only one, which with embedded storage has no cluster's.
    """

    items: ClassVar[Components] = {}
    client_options: ClassVar[Mapping[str, Scalar]] = {}
    keeps_plans: ClassVar[bool] = True

    def __init__(self, database: Database, status_url: str, table: str) -> None:
        self._database, self._status_url, self._table = database, status_url, table
        self._before = database.instance.directory / "statement-summary.json"
        self._samples: dict[str, str] = {}

    def lacking(self, client: str) -> Said | None:
        """See :class:`StatementSummary`."""
        version = self._database.instance.version
        if versions.parse(version).numbers < SINCE:
            return message("statements-too-old", version=version)
        return None

    def begin(self) -> None:
        """See :class:`StatementSummary`."""
        sql, names = self._database.sql, [SWITCH, *WANTED]
        if self._kept() is None:
            row = self._database.row(
                f"SELECT {', '.join(f'@@global.{name}' for name in names)}", len(names)
            )
            kept = json.dumps(dict(zip(names, row, strict=True)))
            self._database.executor.put(self._before, kept)
        sql(f"SET GLOBAL {SWITCH} = OFF; {_set(WANTED)}")
        deadline = time.monotonic() + LEARN_LIMIT_S
        while self._database.row(f"SELECT COUNT(*) FROM {self._table}") != ["0"]:
            if time.monotonic() > deadline:
                raise EngineError(
                    f"{self._database.instance.side}: `SET GLOBAL {SWITCH} = OFF` did not empty "
                    f"{self._table} on all servers within {LEARN_LIMIT_S:.0f} s"
                )
            time.sleep(POLL_S)
        sql(f"SET GLOBAL {SWITCH} = ON")

    def read(self) -> Statements:
        """See :class:`StatementSummary`."""
        there = {row[0].lower() for row in self._database.sql(f"SHOW COLUMNS FROM {self._table}")}
        figures = [one for one in FIGURES if one.column in there]
        columns = [*_NEEDED, *(one.column for one in figures)]
        schema = sql_value(self._database.instance.database.lower())
        chosen = f"FROM {self._table} WHERE schema_name = {schema} OR digest IS NULL"
        named = self._database.select(columns, chosen)
        told = [row for row in named if row["digest"] != "NULL"]
        self._samples = {shape(row["digest_text"]): row["query_sample_text"] for row in told}
        return Statements(
            added_up(read_row(row, figures) for row in told),
            sum(float(row["exec_count"]) for row in named if row["digest"] == "NULL"),
        )

    def end(self) -> None:
        """See :class:`StatementSummary`."""
        if (kept := self._kept()) is not None and self._database.running():
            self._database.sql(_set(kept))
            self._database.executor.run(["rm", "-f", str(self._before)])

    def replayer(self, text: str) -> bytes | None:
        """See :class:`StatementSummary`: what ``PLAN REPLAYER DUMP EXPLAIN`` writes."""
        if versions.parse(self._database.instance.version).numbers < REPLAYER_SINCE:
            return None
        if (sample := executable(self._samples.get(text, ""))) is None:
            return None
        try:
            use = f"USE {self._database.instance.database}"
            # Its rows have the statement: only the name of the file is looked for.
            answer = self._database.sql(f"{use}; PLAN REPLAYER DUMP EXPLAIN {sample}")
            if (file := _FILE.search(" ".join(cell for row in answer for cell in row))) is None:
                return None
            url = shlex.quote(f"{self._status_url}/plan_replayer/dump/{file[0]}")
            command = f"curl --silent --fail --noproxy '*' --max-time {REPLAYER_LIMIT_S} {url}"
            script = f"{command} > {file[0]} && base64 -w0 {file[0]}; rm -f {file[0]}"
            folder = shlex.quote(str(self._database.instance.directory))
            done = self._database.executor.run(
                ["sh", "-c", f"cd {folder} && {script}"], timeout_s=REPLAYER_LIMIT_S + 20
            )
            return base64.b64decode(done.stdout, validate=True) or None
        except (CommandError, binascii.Error):
            return None

    def _kept(self) -> dict[str, str] | None:
        """The variables as they were before; None where nothing was changed."""
        done = self._database.executor.run(["cat", str(self._before)], check=False)
        kept: dict[str, str] | None = json.loads(done.stdout or "null")
        return kept


def read_row(row: Mapping[str, str], figures: Sequence[_Figure] = FIGURES) -> Executed:
    """One statement with one plan, from a row of the summary by the names of its columns.

    Raises:
        EngineError: a figure is none.
    """
    try:
        executions = float(row["exec_count"])
        taken = {
            one.name: float(row[one.column]) * (executions if one.is_average else 1)
            for one in figures
        }
        seconds = float(row["sum_latency"]) / 1e9
    except ValueError as error:
        raise EngineError(
            f"statement summary: a figure of `{row['digest_text'][:80]}` is none"
        ) from error
    plan = read_plan(row["plan"])
    return Executed(
        row["digest_text"], executions, seconds, taken, ((plan, executions),) if plan else ()
    )


def read_plan(text: str) -> Plan:
    """The operators of a plan, as the summary writes it; empty if there is none."""
    header, *lines = text.splitlines() or [""]
    names = [name.strip() for name in header.split("\t")]
    if not {"id", "task", "operator info"} <= set(names):
        return ()
    found = []
    for line in lines:
        cells = dict(zip(names, line.split("\t"), strict=False))
        if len(cells) < len(names):
            continue
        operator = re.sub(r"_\d+(?=$|\()", "", cells["id"].rstrip())
        found.append(
            PlanLine(
                operator, cells["task"].strip(), without_literals(cells["operator info"]).strip()
            )
        )
    return tuple(found)


def executable(sample: str) -> str | None:
    """A statement that can be explained, from one that was executed; None if it cannot be had.

    Example:
        ``executable("SELECT c FROM t WHERE id=? [arguments: 7]")`` is
        ``"SELECT c FROM t WHERE id=7"``.
    """
    if not _EXPLAINED.match(sample) or _CUT.search(sample):
        return None
    if (prepared := _ARGUMENTS.fullmatch(sample)) is None:
        return sample
    text, given = prepared.groups()
    arguments = _ARGUMENT.findall(given)
    *parts, last = text.split("?")
    if len(parts) != len(arguments) or _ARGUMENT.sub("", given).strip("() ,"):
        return None
    return "".join(f"{part}{value}" for part, value in zip(parts, arguments, strict=True)) + last


def _set(variables: Mapping[str, Scalar]) -> str:
    return "; ".join(f"SET GLOBAL {name} = {sql_value(value)}" for name, value in variables.items())
