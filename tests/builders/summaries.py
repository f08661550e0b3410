"""A TiDB whose statement summary has recorded rows."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchlab.engines.server import Instance
from benchlab.engines.tidb import Engine, statements
from benchlab.errors import CommandError
from tests.builders import fakes

GOLDEN = Path(__file__).parents[1] / "golden" / "statements"
INSTANCE = Instance(
    side="baseline",
    version="v8.5.3",
    parameters={},
    directory=Path("/campaign/baseline"),
    host="127.0.0.1",
    port=4000,
    status_port=10080,
    max_connections=10,
    database="sbt2",
    password="",
)


def golden(name: str) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows of a recorded answer."""
    header, *rows = (GOLDEN / name).read_text().splitlines()
    return header.split("\t"), [row.split("\t") for row in rows]


class Summary(Engine):
    """A TiDB whose statement summary has the recorded rows, and which remembers what it is told.

    Attributes:
        lacks: columns that its version does not have.
        executed_since: what was executed after the summary was emptied.
    """

    def __init__(self, instance: Instance = INSTANCE) -> None:
        self.executor: fakes.FakeExecutor = fakes.FakeExecutor(answer=self.answer)
        super().__init__(self.executor, instance, Path("/servers"))
        self.columns_, self.rows = golden("tidb_v8.5.3.tsv")
        self.lacks: set[str] = set()
        self.variables_ = {
            statements.SWITCH: "1",
            "tidb_stmt_summary_refresh_interval": "1800",
            "tidb_stmt_summary_max_stmt_count": "3000",
        }
        self.replayed: list[str] = []
        self.is_up = True

    def answer(self, command: Sequence[str], stdin: str) -> str:
        """Files that were written, and an archive."""
        if command[0] == "cat":
            return self.executor.files.get(Path(command[1]), "")
        if command[0] == "rm":
            self.executor.files.pop(Path(command[-1]), None)
        return base64.b64encode(b"PK archive").decode() if "plan_replayer" in command[-1] else ""

    def running(self) -> bool:
        """What the test says."""
        return self.is_up

    def sql(self, statement: str, **options: Any) -> list[list[str]]:
        """See :class:`benchlab.engines.database.Database`."""
        for part in statement.split("; "):
            name, _, value = part.removeprefix("SET GLOBAL ").partition(" = ")
            if part.startswith("SET"):
                self.variables_[name] = {"ON": "1", "OFF": "0"}.get(value, value.strip("'"))
        if "PLAN REPLAYER" in statement:
            self.replayed.append(statement.partition("EXPLAIN ")[2])
            return [["replayer_abc=_1.zip"]]
        if statement.startswith("SHOW COLUMNS"):
            return [[name.upper(), "int"] for name in self.columns_ if name not in self.lacks]
        if "COUNT(*)" in statement:
            return [["0" if self.variables_[statements.SWITCH] == "0" else "9"]]
        if "@@global" in statement:
            return [[*self.variables_.values()]]
        asked = statement.partition("SELECT ")[2].partition(" FROM")[0].split(", ")
        if not statement.startswith("SELECT digest"):
            return []
        if self.lacks & set(asked):
            raise CommandError("localhost", "mariadb", 1, f"Unknown column in {asked}")
        return [[row[self.columns_.index(name)] for name in asked] for row in self.rows]
