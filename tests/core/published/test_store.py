"""Published reports in the store: kept once, with their page, apart from what was measured."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.errors import PublishedPageError, StoreError
from benchlab.published import page
from benchlab.published.model import PublishedReport
from benchlab.published.store import PublishedReports, called
from benchlab.results.rows import PUBLISHED_REPORTS
from benchlab.results.store import Store

PAGE = b"""# TiDB Sysbench Performance Test Report -- v7.1.0 vs. v7.0.0

## Test results

### Point Select performance

| Threads | v7.0.0 QPS | v7.1.0 QPS | QPS improvement |
|:----|:----|:----|:----|
| 100 | 1000.5 | 1100.5 | 10.00% |
| 200 | 2000 | 2100 | 5.00% |
"""


def changed_page() -> bytes:
    """Another page of the same versions."""
    return PAGE.replace(b"1100.5", b"1200.5").replace(b"10.00%", b"20.00%")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty one."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        yield opened


def kept(store: Store, report: PublishedReport) -> bytes:
    """The page that is stored with a report."""
    with store.transaction() as connection:
        chosen = PUBLISHED_REPORTS.c.id == report.id
        return store.read_bytes(
            connection.scalars(sa.select(PUBLISHED_REPORTS.c.page).where(chosen)).one()
        )


def test_a_report_comes_back_as_it_was_read_with_its_page(store: Store) -> None:
    """Every figure as it was printed, and the page byte by byte."""
    report = page.read(PAGE, "a.md")
    imported = PublishedReports(store)
    assert imported.add(report, PAGE)
    assert imported.ids() == [report.id]
    assert imported.get(report.id) == report
    assert imported.all() == ([report], [])
    assert kept(store, report) == PAGE


def test_the_same_page_is_kept_once(store: Store) -> None:
    """Importing it again writes nothing."""
    report, imported = page.read(PAGE, "a.md"), PublishedReports(store)
    assert imported.add(report, PAGE)
    assert not imported.add(report, PAGE)
    assert imported.ids() == [report.id]


def test_another_page_of_the_same_report_is_refused_until_it_is_to_replace_it(
    store: Store,
) -> None:
    """Nothing that was imported is lost unasked."""
    imported = PublishedReports(store)
    first = page.read(PAGE, "a.md")
    changed = changed_page()
    second = page.read(changed, "b.md")
    assert first.id == second.id
    imported.add(first, PAGE)
    with pytest.raises(
        PublishedPageError, match=r"b\.md: .* from another page \(a\.md.*--replace.*--as"
    ):
        imported.add(second, changed)
    assert imported.get(first.id) == first
    assert imported.add(second, changed, replace=True)
    assert imported.get(first.id) == second
    assert kept(store, first) == changed


def test_a_page_that_says_more_to_a_newer_reader_is_read_again(store: Store) -> None:
    """The same page, as a newer reader understands it, takes the place of what was read before."""
    report, imported = page.read(PAGE, "a.md"), PublishedReports(store)
    imported.add(dataclasses.replace(report, workloads=()), PAGE)
    assert imported.add(report, PAGE)
    assert imported.get(report.id) == report


def test_a_report_that_is_not_there_is_named_with_those_that_are(store: Store) -> None:
    """Nobody has to guess an id."""
    imported = PublishedReports(store)
    report = page.read(PAGE, "a.md")
    imported.add(report, PAGE)
    with pytest.raises(StoreError, match=f"no published report 'nonsense'.*{report.id}"):
        imported.get("nonsense")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_kept_page_is_the_one_that_was_hashed(
    mark: bytes, ending: bytes, store: Store, tmp_path: Path
) -> None:
    """Byte by byte: a byte order mark and line ends are kept, in the file as well."""
    file, imported = tmp_path / "a.md", PublishedReports(store)
    file.write_bytes(mark + PAGE.replace(b"\n", ending))
    report, raw = page.load(file)
    imported.add(report, raw)
    assert kept(store, report) == raw == file.read_bytes()
    (file,) = (tmp_path / "objects" / "published").iterdir()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == report.sha256


def test_a_page_is_read_once(store: Store, tmp_path: Path) -> None:
    """What comes through a pipe cannot be read a second time."""
    pipe, imported = tmp_path / "pipe.md", PublishedReports(store)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(PAGE,))
    writer.start()
    report, raw = page.load(pipe)
    writer.join()
    imported.add(report, raw)
    assert kept(store, report) == PAGE


def test_another_page_of_the_same_versions_stands_beside_it_under_a_name(store: Store) -> None:
    """Both are kept, and each comes back as its own."""
    imported = PublishedReports(store)
    first, again = page.read(PAGE, "a.md"), page.read(changed_page(), "b.md")
    imported.add(first, PAGE)
    assert imported.add(called(again, "rerun-2024"), changed_page())
    assert not imported.add(called(again, "rerun-2024"), changed_page())
    assert imported.ids() == sorted([first.id, "rerun-2024"])
    assert imported.get("rerun-2024") == called(again, "rerun-2024")
    assert kept(store, first) == PAGE


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "\u00e9", "a" * 151])
def test_a_name_is_one_that_files_can_have(name: str) -> None:
    """It follows the same rule as ids of campaigns."""
    with pytest.raises(PublishedPageError, match="letters, digits"):
        called(page.read(PAGE, "a.md"), name)


@pytest.mark.parametrize("stored", ['{"id": "a report of another model"}', "[1]", "{"])
def test_a_report_of_another_model_is_named_and_left_out(store: Store, stored: str) -> None:
    """The others are there, and the message says what to do; that helps."""
    report, imported = page.read(PAGE, "a.md"), PublishedReports(store)
    imported.add(called(report, "mine"), PAGE)
    _store_as(store, stored)
    imported.add(report, PAGE)
    found, (fault,) = imported.all()
    assert found == [report]
    assert fault == (
        "published report mine: stored by another version of Benchlab; import a.md again"
    )
    with pytest.raises(StoreError, match=r"published report mine: .*import a\.md again"):
        imported.get("mine")
    assert imported.add(called(report, "mine"), PAGE)
    assert imported.get("mine") == called(report, "mine")


def _store_as(store: Store, document: str) -> None:
    """As another Benchlab may have written all that are there."""
    with store.transaction() as connection:
        connection.execute(PUBLISHED_REPORTS.update().values(report=document))


@pytest.mark.parametrize("other", ["the same", "another"])
def test_two_imports_at_once_replace_nothing_unasked(
    store: Store, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Both have looked and found no page; the later one is refused, unless it is the same page."""
    imported = PublishedReports(store)
    first, content = page.read(PAGE, "a.md"), PAGE if other == "the same" else changed_page()
    second = page.read(content, "b.md")
    _between(monkeypatch, lambda: imported.add(first, PAGE))
    if other == "the same":
        assert imported.add(second, content)
        assert imported.get(first.id) == second
        return
    with pytest.raises(PublishedPageError, match=r"b\.md: .* from another page \(a\.md"):
        imported.add(second, content)
    assert imported.get(first.id) == first
    assert kept(store, first) == PAGE


def test_what_is_to_be_replaced_is_replaced_although_it_came_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --replace, any page with the id is replaced."""
    imported = PublishedReports(store)
    first, second = page.read(PAGE, "a.md"), page.read(changed_page(), "b.md")
    _between(monkeypatch, lambda: imported.add(first, PAGE))
    assert imported.add(second, changed_page(), replace=True)
    assert imported.get(first.id) == second


def _between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Another process does this after the import has looked for a page, before it writes."""
    write = PublishedReports._write

    def late(self: PublishedReports, *arguments: Any, **options: Any) -> None:
        monkeypatch.setattr(PublishedReports, "_write", write)
        act()
        write(self, *arguments, **options)

    monkeypatch.setattr(PublishedReports, "_write", late)
