"""Reads a published page: a performance test report in Markdown, English or Chinese.

Nothing is guessed: what is not understood is listed in ``unread``, and a page that is not a report
is refused with the line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchlab.errors import PublishedPageError, meaning_of
from benchlab.plan import versions as versions_module
from benchlab.published.plan import passwords
from benchlab.published.plan.setting import setting
from benchlab.published.reading import document, tables, version_names, vocabulary
from benchlab.published.reading.contents import Contents
from benchlab.published.reading.document import Document
from benchlab.published.reading.model import PageKind, PublishedReport, Workload

# A page's budget: published ones have some 20 KB in 500 lines, and each line and letter takes time.
MOST_BYTES = 250_000
MOST_LINES = 10_000
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SERVER = re.compile(r"tidb|mariadb", re.IGNORECASE)
_ABOUT_VERSIONS = re.compile(r"version|版本", re.IGNORECASE)


def load(path: Path) -> tuple[PublishedReport, bytes]:
    """Read a page from its file, which may be a pipe: it is read once.

    Returns:
        The report, and the bytes of the page, which its ``sha256`` belongs to.

    Raises:
        PublishedPageError: it cannot be read, is not UTF-8 text, is too long, or is not a report.

    >>> report, page = load(Path("sysbench-v5.2.0-vs-v5.1.1.md"))  # doctest: +SKIP
    >>> report.versions  # doctest: +SKIP
    ('v5.1.1', 'v5.2.0')
    """
    try:
        with path.open("rb") as file:
            page = file.read(MOST_BYTES + 1)
    except OSError as e:
        raise PublishedPageError(f"{path}: cannot be read: {meaning_of(e)}") from e
    return read(page, path.name, str(path)), page


def read(raw: bytes, source: str, where: str | None = None) -> PublishedReport:
    """Read a page.

    Args:
        raw: the page, in UTF-8.
        source: the file's name, for the report.
        where: the file's path, for messages; None: ``source``.

    Raises:
        PublishedPageError: it is not UTF-8 text, is too long or empty, or is not a performance
            test report.
    """
    where = where or source
    text = _text(raw, where)
    page = document.parse(text)
    if not page.title:
        raise PublishedPageError(
            f"{where}, line 1: no title; give it one in the front matter or as a heading"
        )
    kind = _kind(page, where)
    language = _language(page)
    found = Contents(page, kind)
    found.walk()
    workloads = found.workloads()
    if not workloads and not found.claims and not found.tables_unread:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: no performance test report: neither a table of "
            "results nor a sentence that claims a change"
        )
    versions = _versions(page, workloads, where)
    report = PublishedReport(
        id=f"{kind}-{'-vs-'.join(reversed(versions))}-{language}",
        source=source,
        sha256=hashlib.sha256(raw).hexdigest(),
        title=page.title,
        kind=kind,
        language=language,
        versions=versions,
        exact_versions=_exact_versions(page, versions),
        workloads=workloads,
        claims=tuple(found.claims),
        setting=passwords.without_any(setting(page, kind)),
        unread=tuple(sorted(found.unread, key=lambda unread: unread.line)),
    )
    return replace(report, id=f"cloud-{report.id}") if report.is_about_cloud else report


def _text(raw: bytes, where: str) -> str:
    """The page's text; a byte order mark and line ends are kept."""
    if len(raw) > MOST_BYTES:
        raise PublishedPageError(
            f"{where}, line {_line(raw, MOST_BYTES)}: longer than {MOST_BYTES // 1000} KB; "
            "no published page"
        )
    if (lines := len(_LINE_END.findall(raw))) > MOST_LINES:
        raise PublishedPageError(
            f"{where}, line {MOST_LINES + 1}: {lines} lines, more than {MOST_LINES}; no published "
            "page"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as e:
        raise PublishedPageError(
            f"{where}, line {_line(raw, e.start)}: no UTF-8 text, byte 0x{raw[e.start]:02x}; save "
            "it as UTF-8"
        ) from e
    if "\0" in text:
        line = _line(raw, raw.index(b"\0"))
        raise PublishedPageError(f"{where}, line {line}: a NUL character; no UTF-8 text")
    if not text.strip("\ufeff \t\r\n"):
        raise PublishedPageError(f"{where}, line 1: the page is empty")
    return text


def _line(raw: bytes, place: int) -> int:
    return raw[:place].count(b"\n") + 1


# ---------------------------------------------------------------- what the page is about


def _language(page: Document) -> str:
    """``zh`` if the title or most headings are Chinese, else ``en``."""
    headings = [e.text for e in page.headings]
    chinese = sum(vocabulary.is_chinese(text) for text in headings)
    return "zh" if vocabulary.is_chinese(page.title) or 2 * chinese > len(headings) else "en"


def _kind(page: Document, where: str) -> PageKind:
    """The kind that the title names; if it names none or both, by headings, then by columns.

    Raises:
        PublishedPageError: nothing says which, or everything says both.
    """
    below = [e.text for e in page.headings if e.text != page.title]
    workloads = {vocabulary.workload(text) for text in below} - {None}
    columns = {
        vocabulary.column(heading).metric
        for e in page.elements
        if e.kind == "table" and not e.commented
        for heading in e.table[0]
    }
    by_workload: set[PageKind] = {"tpcc" if name == "tpcc" else "sysbench" for name in workloads}
    by_column: set[PageKind] = {"tpcc"} if "tpmc" in columns else set()
    by_heading = vocabulary.kinds(" / ".join(below))
    for named in (vocabulary.kinds(page.title), by_heading, by_workload, by_column):
        if len(named) == 1:
            return named.pop()
    raise PublishedPageError(
        f"{where}, line {page.title_line}: {tables.shown(page.title)!r} is a report of neither "
        "Sysbench nor TPC-C, or of both; title or headings have to name one"
    )


def _versions(page: Document, workloads: Iterable[Workload], where: str) -> tuple[str, ...]:
    """The versions in the title; if it names none, those that all tables have in common.

    Raises:
        PublishedPageError: there is none, or there are more than two.
    """
    versions = version_names.of_title(page.title)
    if not versions:
        printed = {workload.versions for workload in workloads if workload.versions}
        versions = printed.pop() if len(printed) == 1 else ()
    if len(versions) not in (1, 2):
        raise PublishedPageError(
            f"{where}, line {page.title_line}: the title {tables.shown(page.title)!r} names "
            f"{len(versions) or 'no'} versions; a report is about one, or compares two"
        )
    return tuple(map(version_names.bare, versions))


def _exact_versions(page: Document, versions: Sequence[str]) -> tuple[str, ...]:
    """The exact names of the title's versions, from one place that names each of them."""
    for text in _about_versions(page):
        named = version_names.named(text)
        found = tuple(
            exact
            for version in versions
            for exact in dict.fromkeys(named)
            if version_names.covers(version, exact) and not versions_module.is_same(version, exact)
        )
        if len(found) == len(versions) == len(set(named)):
            return found
    return ()


def _about_versions(page: Document) -> Iterator[str]:
    """Sentences about versions, and table rows about the database server."""
    for element in page.elements:
        if element.commented:
            continue
        if element.kind in ("paragraph", "item") and _ABOUT_VERSIONS.search(element.text):
            yield element.text
        for row in element.table:
            if _SERVER.fullmatch(row[0]):
                yield " ".join(row[1:])
