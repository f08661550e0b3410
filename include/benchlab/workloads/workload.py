"""The contract of a workload module: :class:`Workload`.

Such a module starts nothing: it builds commands for others to run, and parses what they print.
Commands are argument lists to be started without a shell. They never contain a password, because
every user of a host can read its process list. An argument out of range, or a dataset of the wrong
class, raises a ValueError that begins with the argument's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from benchlab.language import Message
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import Metric
from benchlab.results.records import Condition
from benchlab.workloads.client import Endpoint, Program, Session
from benchlab.workloads.output import Output

Query = Callable[[str], Sequence[Sequence[object]]]
"""Runs one statement in the schema of the dataset and returns its rows."""


class Workload(Protocol):
    """A client and its workloads. A module may omit any name that is in :data:`DEFAULTS`.

    Example:
        ``workloads.by_name()["oltp_point_select"].parse(text).tps``

    Attributes:
        NAMES: the workloads' names in report types; no two modules share a name.
        READ_ONLY: the workloads that leave the dataset as they found it, and so need no restore.
        FRESH: the workloads that need the dataset as it was loaded for every trial.
        CREATES: how many ``CREATE TABLE IF NOT EXISTS`` each run sends for tables that exist.
        VIEWS: how many views each run replaces: DDL jobs in TiDB, which MariaDB does not count.
        DATASET: the class of the dataset that it loads.
        DATABASE: the schema of the tables. The campaign creates it, empty, before the load.
        TOOL: the client's name for ``benchlab parse``.
        METRICS: what it prints, in the order of tables and files; one is its throughput, one its
            latency.
        COUNTS: of what the servers of each engine count, by its name, what is decided; of the
            counts in its module.
        PROGRAMS: the programs that can run the workloads, the preferred one first. One is chosen
            on the client's host for the whole campaign; figures of different ones are never
            compared.
        TAKES_RATE: whether the client can send transactions at a given rate.
        CONSISTENCY: checks the conditions that the dataset must meet, and returns each with its
            number of violations; None if there are none.
    """

    __name__: str
    NAMES: tuple[str, ...]
    READ_ONLY: frozenset[str]
    FRESH: frozenset[str]
    CREATES: int
    VIEWS: int
    DATASET: type[Dataset]
    DATABASE: str
    TOOL: str
    METRICS: tuple[Metric, ...]
    COUNTS: Mapping[str, tuple[str, ...]]
    PROGRAMS: tuple[Program, ...]
    TAKES_RATE: bool
    CONSISTENCY: Callable[[Query], tuple[Condition, ...]] | None

    def config_file_text(self, endpoint: Endpoint) -> str:
        """The text of the private file at ``config_path``: the password in the client's format."""

    def warnings(self, dataset: Dataset, threads: Sequence[int]) -> list[Message]:
        """Warnings for the plan about this dataset at these thread counts."""

    def prepare_command(self, session: Session) -> list[str]:
        """The command that creates and loads the tables."""

    def run_command(
        self,
        workload: str,
        session: Session,
        *,
        seconds: int,
        ignore_errors: Sequence[int] = ...,
    ) -> list[str]:
        """The command that runs one workload for ``seconds`` seconds.

        Args:
            ignore_errors: the server's error numbers that must not end the run.
        """

    def load_faults(self, text: str) -> list[str]:
        """The faults that a load printed, for clients whose exit status does not reveal them."""

    def parse(self, text: str) -> Output:
        """Parse what a run printed, stdout and stderr in one text. Raises nothing."""


DEFAULTS: dict[str, Any] = {
    "READ_ONLY": frozenset(),
    "FRESH": frozenset(),
    "CREATES": 0,
    "VIEWS": 0,
    "COUNTS": {},
    "TAKES_RATE": False,
    "CONSISTENCY": None,
    "config_file_text": lambda endpoint: "",
    "warnings": lambda dataset, threads: [],
    "load_faults": lambda text: [],
}
"""They suit a client that reads no password file and whose exit status says whether it failed."""
