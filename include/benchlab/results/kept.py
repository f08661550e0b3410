"""A cache of documents computed from the store, valid while what they follow from is unchanged.

A document is kept with the *key* of what it was computed from, which its maker defines; it is not
found under any other key. Nothing depends on these documents: if one is missing or damaged, or the
store cannot be written, its content is computed again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa
from pydantic_core import from_json  # twice as fast as json, and a history reads megabytes
from sqlalchemy.engine import Connection

from benchlab.errors import StoreError
from benchlab.results.rows import KEPT

log = logging.getLogger(__name__)

# Fewer than any database allows as parameters of one statement.
_AT_ONCE = 500


class Kept:
    """The documents of a store: ``store.kept.read("figures", {"c1": key}).get("c1")``.

    Args:
        transaction: opens a connection to the store whose statements take effect together.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def read(self, part: str, keys: Mapping[str, str]) -> dict[str, Any]:
        """The documents of one part whose key is unchanged, by name.

        Args:
            keys: the current key of each document, by name (usually a campaign's id).
        """
        try:
            return {
                row.name: from_json(row.document)
                for row in self._rows(part, keys)
                if row.seal == _seal(keys[row.name], row.document)
            }
        except StoreError as error:
            log.info("what was computed before is not read: %s", error)
            return {}

    def write(self, part: str, documents: Mapping[str, tuple[str, object]]) -> None:
        """Replace documents; a failure is only logged.

        Args:
            documents: key and content of each, by name.
        """
        rows = [
            {"name": name, "part": part, "seal": _seal(key, text), "document": text}
            for name, (key, document) in sorted(documents.items())
            for text in [json.dumps(document, ensure_ascii=False)]
        ]
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            named = KEPT.c.name.in_([row["name"] for row in some])
            try:
                with self._transaction() as connection:
                    connection.execute(KEPT.delete().where(KEPT.c.part == part, named))
                    connection.execute(KEPT.insert(), some)
            except (sa.exc.IntegrityError, StoreError) as error:
                # Another process has just kept the same, or the store cannot be written.
                log.info("%s of %d: not kept: %s", part, len(some), error)

    def _rows(self, part: str, names: Mapping[str, str]) -> Iterator[Any]:
        wanted = list(names)
        with self._transaction() as connection:
            for begin in range(0, len(wanted), _AT_ONCE):
                named = KEPT.c.name.in_(wanted[begin : begin + _AT_ONCE])
                yield from connection.execute(sa.select(KEPT).where(KEPT.c.part == part, named))


def key_of(*parts: object) -> str:
    """A key for whatever follows from these parts, a SHA-256: ``key_of(plan, threshold_pct)``."""
    text = "\n".join(map(str, parts))
    return hashlib.sha256(text.encode()).hexdigest()


def _seal(key: str, document: str) -> str:
    """A hash of key and document, so that a damaged document counts as missing."""
    return key_of(key, document)
