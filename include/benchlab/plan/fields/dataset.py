"""What is loaded before anything is measured.

Example:
    ``Dataset(tables=16, table_size=1_000_000).rows`` is 16000000.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from benchlab.plan.documents import DATASET_KINDS, Frozen

# YCSB's rows, and how many of them are inserted at once.
FIELDS = 10
FIELD_BYTES = 100
BATCH = 100


class Dataset(Frozen):
    """sysbench's tables ``sbtest1`` to ``sbtest<tables>``."""

    tables: Annotated[int, Field(ge=1, le=1024)]
    table_size: Annotated[int, Field(ge=1, le=1_000_000_000)]

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return self.tables * self.table_size

    def __str__(self) -> str:
        """For people."""
        return f"{self.tables} tables x {self.table_size:,} rows"


class Warehouses(Frozen):
    """TPC-C's nine tables, scaled by the number of warehouses."""

    warehouses: Annotated[int, Field(ge=1, le=100_000)]

    @property
    def rows(self) -> int:
        """The approximate number of rows of all tables (TPC-C 5.11, table 1.2.1)."""
        return 100_000 + 499_011 * self.warehouses

    def __str__(self) -> str:
        """For people."""
        return f"{self.warehouses:,} warehouses"


class Records(Frozen):
    """YCSB's table, of rows with a key and ten fields of 100 bytes, loaded in whole batches."""

    records: Annotated[int, Field(ge=BATCH, le=1_000_000_000, multiple_of=BATCH)]

    @property
    def rows(self) -> int:
        """Rows of the only table."""
        return self.records

    def __str__(self) -> str:
        """For people."""
        return f"{self.records:,} records"


class ScaleFactor(Frozen):
    """TPC-H's eight tables; at scale factor 1 they are about 1 GB of text."""

    scale_factor: Annotated[int, Field(ge=1, le=100_000)]

    @property
    def rows(self) -> int:
        """The approximate number of rows of all tables (TPC-H 3.0.1, clause 4.2.5)."""
        return 30 + 8_661_215 * self.scale_factor

    def __str__(self) -> str:
        """For people."""
        return f"scale factor {self.scale_factor:,}"


_KINDS = dict(zip(("warehouses", "records", "scale_factor"), DATASET_KINDS[1:], strict=True))


def _kind(raw: Any) -> str:
    for field, kind in _KINDS.items():
        if hasattr(raw, field) or (isinstance(raw, dict) and field in raw):
            return kind
    return DATASET_KINDS[0]


AnyDataset = Annotated[
    Annotated[Dataset, Tag(DATASET_KINDS[0])]
    | Annotated[Warehouses, Tag(DATASET_KINDS[1])]
    | Annotated[Records, Tag(DATASET_KINDS[2])]
    | Annotated[ScaleFactor, Tag(DATASET_KINDS[3])],
    Discriminator(_kind),
]
