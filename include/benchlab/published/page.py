"""Reads a published page: a performance test report in Markdown, English or Chinese.

Where a page is in doubt, it is not guessed: what is not understood is listed in ``unread``, and a
page that is no report is refused with its line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchlab.errors import PublishedPageError
from benchlab.published import document, identity, passwords, tables, version_names, vocabulary
from benchlab.published.contents import Contents
from benchlab.published.document import Document
from benchlab.published.model import Kind, PublishedReport, Workload
from benchlab.published.setting import setting

_CLOUD = "cloud-"
MOST_BYTES = 1_000_000
_SERVER = re.compile(r"tidb|mariadb", re.IGNORECASE)
_ABOUT_VERSIONS = re.compile(r"version|版本", re.IGNORECASE)


def read_file(path: Path) -> PublishedReport:
    """Read a page from its file, as :func:`load` does."""
    return load(path)[0]


def load(path: Path) -> tuple[PublishedReport, bytes]:
    """Read a page from its file, once: of a pipe there is no second time.

    Returns:
        The report, and the bytes that its ``sha256`` is of.

    Raises:
        PublishedPageError: it cannot be read, is no UTF-8 text, is too long or no report.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as e:
        raise PublishedPageError(f"{path}: cannot be read: {e.strerror}") from e
    return _report(_decoded(raw, str(path)), path.name, str(path)), raw


def read_bytes(raw: bytes, source: str) -> PublishedReport:
    """Read a page from its bytes, as :func:`read` does from its text."""
    return _report(_decoded(raw, source), source, source)


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")  # a byte order mark and line ends stay
    except UnicodeDecodeError as e:
        if len(raw) > MOST_BYTES:
            _check_length(raw, where)  # its last character may be cut
        line = raw[: e.start].count(b"\n") + 1
        raise PublishedPageError(
            f"{where}, line {line}: no UTF-8 text, byte 0x{raw[e.start]:02x}; save it as UTF-8"
        ) from e


def read(text: str, source: str) -> PublishedReport:
    """Read a page.

    Args:
        text: the page.
        source: name of its file, for the report and for messages.

    Raises:
        PublishedPageError: it is too long, empty, or no performance test report.
    """
    return _report(text, source, source)


def _report(text: str, source: str, where: str) -> PublishedReport:
    raw = _checked(text, where)
    page = document.parse(text)
    if not page.title:
        raise PublishedPageError(
            f"{where}, line 1: no title; give it one in the front matter or as a heading"
        )
    kind = _kind(page, where)
    language = _language(page)
    found = Contents(page, kind, language)
    found.walk()
    workloads = found.workloads()
    if not workloads and not found.claims and not found.tables_unread:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: no performance test report: neither a table of "
            "results nor a sentence that claims a change"
        )
    versions = _versions(page, workloads, where)
    return PublishedReport(
        id=f"{_CLOUD * identity.is_about_cloud(page.title)}{kind}-{'-vs-'.join(reversed(versions))}"
        f"-{language}",
        source=source,
        sha256=hashlib.sha256(raw).hexdigest(),
        title=page.title,
        kind=kind,
        language=language,
        versions=versions,
        exact_versions=_exact_versions(page, versions),
        workloads=workloads,
        claims=tuple(found.claims),
        setting=passwords.without_any(setting(page, kind, language)),
        unread=tuple(sorted(found.unread, key=lambda each: each.line)),
    )


def _checked(text: str, where: str) -> bytes:
    """The page's bytes.

    Raises:
        PublishedPageError: it is no text, too long or empty.
    """
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as e:
        line = text[: e.start].count("\n") + 1
        raise PublishedPageError(
            f"{where}, line {line}: half of a character, U+{ord(text[e.start]):04X}; no UTF-8 text"
        ) from e
    _check_length(raw, where)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise PublishedPageError(f"{where}, line {line}: a NUL character; no UTF-8 text")
    if not text.strip("\ufeff \t\r\n"):
        raise PublishedPageError(f"{where}, line 1: the page is empty")
    return raw


def _check_length(raw: bytes, where: str) -> None:
    if len(raw) > MOST_BYTES:
        line = raw[:MOST_BYTES].count(b"\n") + 1
        raise PublishedPageError(
            f"{where}, line {line}: longer than {MOST_BYTES // 1_000_000} MB; no published page"
        )


# ---------------------------------------------------------------- what the page is about


def _language(page: Document) -> str:
    """``zh`` where the title is Chinese, or most headings are; else ``en``."""
    headings = [e.text for e in page.headings]
    chinese = sum(vocabulary.is_chinese(text) for text in headings)
    return "zh" if vocabulary.is_chinese(page.title) or 2 * chinese > len(headings) else "en"


def _kind(page: Document, where: str) -> Kind:
    """By the title; where it names none or both, by the headings, then by the figures.

    Raises:
        PublishedPageError: nothing says which, or all say both.
    """
    below = [e.text for e in page.headings if e.text != page.title]
    workloads = {vocabulary.workload(text) for text in below} - {None}
    columns = {
        vocabulary.column(heading).metric
        for e in page.elements
        if e.kind == "table" and not e.commented
        for heading in e.table[0]
    }
    by_workload: set[Kind] = {"tpcc" if each == "tpcc" else "sysbench" for each in workloads}
    by_column: set[Kind] = {"tpcc"} if "tpmc" in columns else set()
    by_heading = vocabulary.kinds(" / ".join(below))
    for named in (vocabulary.kinds(page.title), by_heading, by_workload, by_column):
        if len(named) == 1:
            return named.pop()
    raise PublishedPageError(
        f"{where}, line {page.title_line}: {tables.shown(page.title)!r} is a report of neither "
        "Sysbench nor TPC-C, or of both; title or headings have to name one"
    )


def _versions(page: Document, workloads: Iterable[Workload], where: str) -> tuple[str, ...]:
    """Of the title; where it names none, those that all tables have.

    Raises:
        PublishedPageError: there is none, or there are more than two.
    """
    versions = version_names.of_title(page.title)
    if not versions:
        printed = {each.versions for each in workloads if each.versions}
        versions = printed.pop() if len(printed) == 1 else ()
    if len(versions) not in (1, 2):
        raise PublishedPageError(
            f"{where}, line {page.title_line}: the title {tables.shown(page.title)!r} names "
            f"{len(versions) or 'no'} versions; a report is about one, or compares two"
        )
    return tuple(map(version_names.bare, versions))


def _exact_versions(page: Document, versions: Sequence[str]) -> tuple[str, ...]:
    """The versions that those of the title stand for, from one place that names each of them."""
    for text in _about_versions(page):
        named = version_names.named(text)
        found = tuple(
            exact
            for version in versions
            for exact in dict.fromkeys(named)
            if version_names.covers(version, exact) and not version_names.same(version, exact)
        )
        if len(found) == len(versions) == len(set(named)):
            return found
    return ()


def _about_versions(page: Document) -> Iterator[str]:
    """Sentences about versions, and the database's rows of tables."""
    for element in page.elements:
        if element.commented:
            continue
        if element.kind in ("paragraph", "item") and _ABOUT_VERSIONS.search(element.text):
            yield element.text
        for row in element.table:
            if _SERVER.fullmatch(row[0]):
                yield " ".join(row[1:])
