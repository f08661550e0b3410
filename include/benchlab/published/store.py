"""Published reports in the results store, each with the page that it was read from.

They have their own table, so that no printed figure is ever mistaken for a measured one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from benchlab.errors import PublishedPageError, StoreError
from benchlab.home import ID
from benchlab.language.names import plain
from benchlab.published import model
from benchlab.published.model import PublishedReport
from benchlab.results.rows import PUBLISHED_REPORTS, as_json
from benchlab.results.store import Store

_COLUMNS = PUBLISHED_REPORTS.c
_ID = re.compile(ID)


@dataclass(frozen=True)
class PublishedReports:
    """The published reports of one results store.

    >>> PublishedReports(store).add(*load(Path("page.md")))  # doctest: +SKIP
    True
    """

    store: Store

    def add(self, report: PublishedReport, page: bytes, *, replace: bool = False) -> bool:
        """Store a report with its page; False if the same page is already stored.

        A page that another version of Benchlab read differently is stored again.

        Args:
            report: as it was read, under its own id or a chosen one (:func:`called`).
            page: the bytes that it was read from, whose hash is its ``sha256``.
            replace: whether to replace a different page with the same id.

        Raises:
            PublishedPageError: another page or a campaign has this id.
            StoreError: the store cannot be written.
        """
        if report.id in self.store.campaign_ids():
            raise PublishedPageError(
                f"{report.source}: a campaign has the id {report.id!r}; `--as NAME` gives it "
                "another one"
            )
        document = as_json(report.to_json())
        found = self._row(report.id)
        # Another Benchlab may understand the same page differently.
        if found and (found.sha256, found.report) == (report.sha256, document):
            return False
        if found and found.sha256 != report.sha256 and not replace:
            raise _taken(report, found)
        self._write(report, document, page, replace=replace)
        return True

    def _write(self, report: PublishedReport, document: str, page: bytes, *, replace: bool) -> None:
        """Replace the row of the same page, or with ``replace`` the row of any page with this id.

        The insertion fails if another process has written a row in the meantime.
        """
        name = self.store.write_bytes(f"published/{report.id}-{report.sha256[:12]}.md", page)
        old = _COLUMNS.id == report.id
        row = {
            "id": report.id,
            "source": report.source,
            "sha256": report.sha256,
            "imported_at": datetime.now(UTC).isoformat(),
            "page": name,
            "report": document,
        }
        try:
            with self.store.transaction() as connection:
                connection.execute(
                    PUBLISHED_REPORTS.delete().where(
                        old if replace else old & (_COLUMNS.sha256 == report.sha256)
                    )
                )
                connection.execute(PUBLISHED_REPORTS.insert().values(**row))
        except sa.exc.IntegrityError as error:
            there = self._row(report.id)
            if there and there.sha256 != report.sha256 and not replace:
                raise _taken(report, there) from error
            raise StoreError(
                f"{report.id}: another process is importing it right now; import it again"
            ) from error

    def ids(self) -> list[str]:
        """The ids of all published reports."""
        with self.store.transaction() as connection:
            return list(connection.scalars(sa.select(_COLUMNS.id).order_by(_COLUMNS.id)))

    def get(self, report: str) -> PublishedReport:
        """One published report.

        Raises:
            StoreError: no published report has this id, or it cannot be read.
        """
        row = self._row(report)
        if row is None:
            there = ", ".join(self.ids()) or "none"
            raise StoreError(f"no published report {report!r} in the store; known: {there}")
        return self._report(row)

    def all(self) -> tuple[list[PublishedReport], list[str]]:
        """All readable reports, ordered by id, and a message for each that cannot be read."""
        with self.store.transaction() as connection:
            rows = connection.execute(sa.select(PUBLISHED_REPORTS).order_by(_COLUMNS.id)).all()
        reports, faults = [], []
        for row in rows:
            try:
                reports.append(self._report(row))
            except StoreError as error:
                faults.append(str(error))
        return reports, faults

    def _row(self, report: str) -> sa.Row[Any] | None:
        with self.store.transaction() as connection:
            return connection.execute(
                sa.select(PUBLISHED_REPORTS).where(_COLUMNS.id == report)
            ).one_or_none()

    def _report(self, row: sa.Row[Any]) -> PublishedReport:
        try:
            return model.from_json(json.loads(row.report))
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise StoreError(
                f"published report {row.id}: stored by another version of Benchlab; import "
                f"{row.source} again"
            ) from error


def called(report: PublishedReport, name: str) -> PublishedReport:
    """A report under a chosen id, to store it next to another one about the same versions.

    Example:
        ``called(report, "sysbench-v5.2.0-second").id`` is ``"sysbench-v5.2.0-second"``.

    Raises:
        PublishedPageError: the name cannot be an id.
    """
    if not _ID.fullmatch(name):
        raise PublishedPageError(
            f"--as {name!r}: letters, digits, `_`, `.` and `-` only, at most 150 of them, the "
            "first a letter or digit: it names files"
        )
    return replace(report, id=name)


def _taken(report: PublishedReport, found: sa.Row[Any]) -> PublishedPageError:
    return PublishedPageError(
        f"{report.source}: {report.id} is in the store already, read from another page "
        f"({plain(found.source)}, sha256 {found.sha256[:12]}); --replace imports this one "
        "instead, --as NAME keeps both"
    )
