"""The dataset, which is loaded before anything is measured; a workload's module defines its kind.

Example:
    ``Tables(tables=16, table_size=1_000_000).rows`` is 16000000.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, SerializeAsAny

from benchlab.discovery import members
from benchlab.language import Said
from benchlab.plan.documents import Frozen


class Dataset(Frozen):
    """Base of each kind of dataset: its fields in a report type, and the rates that plans assume.

    Example:
        ::

            class Documents(Dataset):
                documents: Annotated[int, Field(ge=1, title="Documents")]

                @property
                def rows_by_table(self) -> dict[str, int | None]:
                    return {"document": self.documents}

                @property
                def said(self) -> Said:
                    return f"{self.documents:,} documents"

    A field's ``title`` is its name in the trigger form. The class variables are those of
    sysbench's tables, measured on 2 cores with MariaDB and on clusters like the published ones; a
    kind with other rows overrides them.

    Attributes:
        LOCAL_LOAD_ROWS_PER_S, LOAD_ROWS_PER_S: rows loaded per second, on one machine and through
            TiDB with 16 threads, one per table, secondary index included.
        ROW_BYTES: of a row on one machine, with its index entry and the free space in its pages;
            rows of TPC-C take as much on average, 230 to 330 bytes by table.
        TIKV_ROW_BYTES: of a row in TiKV with its index entry, compressed, with room for compaction.
        WHY_UNLIKE: id of the message that says in what the rows of two loads differ.
    """

    LOCAL_LOAD_ROWS_PER_S: ClassVar[float] = 60_000
    LOAD_ROWS_PER_S: ClassVar[float] = 60_000
    ROW_BYTES: ClassVar[float] = 260
    TIKV_ROW_BYTES: ClassVar[float] = 220
    WHY_UNLIKE: ClassVar[str] = "contents-differ"

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """The number of rows of each table after the load; None if it is random.

        The largest table comes first: several are analyzed at once, and it takes longest.
        """
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """The number of rows in all tables, approximately."""
        return sum(rows or 0 for rows in self.rows_by_table.values())

    @property
    def largest_share(self) -> float:
        """The largest table's share of the rows; one of random size has all rows left over."""
        known = [rows or 0 for rows in self.rows_by_table.values()]
        return max(*known, self.rows - sum(known)) / self.rows

    @property
    def check_s(self) -> float | None:
        """Seconds to check its consistency conditions; None if there are none."""
        return None

    @property
    def said(self) -> Said:
        """The dataset in words, for sentences such as ``Load ... into each side``."""
        raise NotImplementedError

    def __str__(self) -> str:
        """In English."""
        return str(self.said)


@cache
def kinds() -> tuple[type[Dataset], ...]:
    """All kinds of dataset, found by presence: each is ``DATASET`` of a workload's module."""
    modules = members("benchlab.workloads", "DATASET").values()
    return tuple(dict.fromkeys(module.DATASET for module in modules))


def _of_its_kind(raw: Any) -> Dataset:
    """Read a dataset as the kind that has most of its fields."""
    if isinstance(raw, Dataset):
        return raw
    fields = raw.keys() if isinstance(raw, dict) else ()
    kind = max(kinds(), key=lambda kind: len(kind.model_fields.keys() & fields))
    return kind.model_validate(raw)


AnyDataset = Annotated[SerializeAsAny[Dataset], BeforeValidator(_of_its_kind)]
