"""What Benchlab knows of a client: a module that satisfies :class:`Workload`.

Such a module starts nothing: it makes the commands that others run, and reads what they printed.
Commands are argument lists to be started without a shell. They never hold a password, because every
user of a host can read its process list. Arguments out of range and a dataset of another class
raise ValueError, which begins with the name of the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from benchlab.plan.dataset import AnyDataset
from benchlab.plan.report_type import Client
from benchlab.results.records import Condition
from benchlab.workloads.client import Endpoint, Program
from benchlab.workloads.output import Output

Query = Callable[[str], Sequence[Sequence[object]]]
"""Runs one statement in the schema of the dataset and returns its rows."""


class Consistency(Protocol):
    """Conditions that a sound dataset keeps; see ``tpcc_consistency``."""

    def check(self, query: Query) -> tuple[Condition, ...]:
        """How often each condition is violated."""


class Workload(Protocol):
    """A client and its workloads.

    Example:
        ``workloads.by_name()["oltp_point_select"].parse(text).tps``

    Attributes:
        NAMES: the workloads, as report types name them; no other module has the same name.
        READ_ONLY: those that leave the dataset as they found it, and so need no restore.
        DATASET: the class of the dataset it loads, one of those in ``benchlab.plan.dataset``.
        DATABASE: the schema of the tables. The campaign creates it, empty, before the load.
        TOOL: the name under which ``benchlab parse`` reads its output.
        METRIC: the metric that decides, one of ``benchlab.results.records.UNITS``.
        PROGRAMS: the programs that can run the workloads, the preferred one first. Which is used is
            decided on the client's host, once for a campaign; their figures are never compared.
        CONSISTENCY: None where the dataset has no conditions to check.
    """

    __name__: str
    NAMES: tuple[str, ...]
    READ_ONLY: frozenset[str]
    DATASET: type[AnyDataset]
    DATABASE: str
    TOOL: str
    METRIC: str
    PROGRAMS: tuple[Program, ...]
    CONSISTENCY: Consistency | None

    def config_file_text(self, endpoint: Endpoint) -> str:
        """The private file that ``config_path`` names: the password, as the client reads it."""

    def tables(self, dataset: AnyDataset) -> dict[str, int | None]:
        """Every table by name, with its rows after the load; None where they are random."""

    def warnings(self, dataset: AnyDataset, threads: Sequence[int]) -> list[str]:
        """What a reader of the plan should know of this dataset under so many threads."""

    def prepare_command(
        self,
        endpoint: Endpoint,
        config_path: str,
        dataset: AnyDataset,
        *,
        threads: int,
        client: Client = ...,
    ) -> list[str]:
        """Create the tables and load them."""

    def run_command(
        self,
        workload: str,
        endpoint: Endpoint,
        config_path: str,
        dataset: AnyDataset,
        *,
        threads: int,
        seconds: int,
        client: Client = ...,
        ignore_errors: Sequence[int] = ...,
    ) -> list[str]:
        """Measure one workload for ``seconds``.

        Args:
            ignore_errors: the server's error numbers that must not end a run.
        """

    def load_faults(self, text: str) -> list[str]:
        """What a load printed that went wrong, for clients whose exit status says nothing."""

    def parse(self, text: str) -> Output:
        """Read what a run printed, stdout and stderr in one text. Raises nothing."""
