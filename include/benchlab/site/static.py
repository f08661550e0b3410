"""The site as plain files, for readers without an account in Airflow.

The pages are those in Airflow's UI, without what needs a server: filters, plans, judging. Beside
each lies its document (:mod:`benchlab.site.documents`).
:data:`RECORD` has a hash of what each file depends on; a file whose hash is unchanged is neither
rendered nor written again.

Example:
    ``write(site, folder_at("s3://bucket/benchmarks", "eu-west-1", Access())).written``
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from benchlab.errors import PublishError, SpecError, meaning_of
from benchlab.hosts.access import Access
from benchlab.published.store import PublishedReports
from benchlab.report.publish.s3 import Bucket
from benchlab.results.findings import Sought
from benchlab.results.listing import Chosen
from benchlab.results.records import CampaignSummary, ReportSummary
from benchlab.site import (
    campaign,
    campaigns,
    documents,
    feed,
    files,
    findings,
    history,
    overview,
    trial,
)
from benchlab.site.campaigns import Filter
from benchlab.site.page import ASSETS, DOCUMENT, INDEX, Page, Site, assets, render

# The hash of what each file depends on, by name. Only files listed here are ever removed, because
# the site wrote them.
RECORD = "site.json"


@dataclass(frozen=True)
class Written:
    """How many files were written, left unchanged, and removed."""

    written: int
    unchanged: int
    removed: int


@dataclass(frozen=True)
class _File:
    """A file of the site.

    Attributes:
        rests_on: a hash of what it depends on; None: unknown, so the content is hashed.
    """

    name: str
    make: Callable[[], bytes]
    rests_on: str | None = None


def write(site: Site, folder: Folder) -> Written:
    """Write the site into a folder, or update it there.

    Files are written before the pages that link to them, and the first page last. Pages that the
    site no longer has are removed.

    Raises:
        PublishError: the folder cannot be read or written.
        StoreError, SpecError: a page cannot be made; its earlier version is kept.
    """
    site = replace(site, as_files=True, may_change=False, guard="")
    earlier, there = _record(folder), folder.names()
    now: dict[str, str] = {}
    written = 0
    for file in _files(site):
        name, known = file.name, earlier.get(file.name) if file.name in there else None
        if known is not None and known == file.rests_on:
            now[name] = known
            continue
        content = file.make()
        now[name] = file.rests_on or _digest(content)
        if known != now[name]:
            folder.write(name, content)
            written += 1
    gone = sorted(earlier.keys() - now.keys())
    for name in gone:
        folder.remove(name)
    folder.write(RECORD, json.dumps(now, indent=0, sort_keys=True).encode())
    return Written(written, len(now) - written, len(gone))


def _record(folder: Folder) -> dict[str, str]:
    """The recorded hashes; empty if there are none or they are damaged, so all is written again."""
    try:
        found = json.loads(folder.read(RECORD) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _files(site: Site) -> Iterator[_File]:
    """All files; those that pages link to come before these pages."""
    for name, content in assets().items():
        yield _File(f"{ASSETS}{name}", partial(bytes, content))
    house = _house(site)
    known = [one for one in site.store.listing.reports() if site.shows(one.report)]
    for one in known:
        listed = site.store.listing.summaries(Chosen(report=one.report))
        outlines = {each.id: each for each in site.comparisons.outlines(one.report)}
        # A new A/A campaign changes intervals of all campaigns, one that is gone those of its own.
        shared = _digest(house, *(each for each in listed if each.measures_noise))
        found = site.store.findings.found(Sought(one.report))
        for each in listed:
            outline = outlines.get(each.id)
            before = site.comparisons.earlier(outline) if outline else ()
            judged = (finding for finding in found if each.id in finding.campaigns)
            rests_on = _digest(shared, *(other.id for other in before), *judged)
            yield from _of_campaign(site, each, rests_on)
        yield from _histories(site, one, _digest(house, *listed, _published(site), *found))
    yield from _published_histories(site, known)
    yield from _page(site, history.workloads(site))
    yield from _lists(site)
    yield from _page(site, findings.findings(site))
    for form in feed.FORMS:
        yield _File(feed.place_of(form), partial(feed.feed, site, form))
    yield from _page(site, overview.overview(site))


def _of_campaign(site: Site, one: CampaignSummary, shared: str) -> Iterator[_File]:
    """A campaign's report, the pages of its trials if they are few, and its page."""
    place = campaign.place_of(one.id)
    for file in files.of_report(site, one.id):
        changed = (site.home.reports / one.id / file.name).stat().st_mtime_ns
        make = partial(files.read, site, one.id, file.name)
        yield _File(f"{place}files/{file.name}", make, f"{file.size} {changed}")
    is_running = one.state == "running"
    remarks = site.store.remarks().get(one.id)
    rests_on = None if is_running else _digest(shared, one, remarks, *files.of_report(site, one.id))
    for name in _with_pages(site, one.id):
        of_trial = partial(trial.trial, site, one.id, name)
        yield from _made(site, f"{place}trials/{name}/", of_trial, rests_on)
    yield from _made(site, place, partial(campaign.campaign, site, one.id), rests_on)


def _with_pages(site: Site, campaign_id: str) -> list[str]:
    """The measured trials of a campaign; none if it has too many for pages of their own."""
    measured = site.store.trial_ids(campaign_id)
    if not site.has_trial_pages(len(measured)):
        return []
    planned = len(site.store.campaign(campaign_id).wanted.trials)
    return measured if site.has_trial_pages(planned) else []


def _histories(site: Site, one: ReportSummary, rests_on: str) -> Iterator[_File]:
    for workload in one.decided:
        place = history.place_of(one.report, workload)
        make = partial(history.history, site, one.report, workload)
        yield from _made(site, place, make, rests_on)


def _published_histories(site: Site, known: Iterable[ReportSummary]) -> Iterator[_File]:
    """The histories of workloads that only published reports have."""
    measured = {workload for one in known for workload in one.decided}
    reports, _ = PublishedReports(site.store).all()
    for workload in sorted({found.name for one in reports for found in one.workloads} - measured):
        yield from _page(site, history.history(site, history.PUBLISHED, workload))


def _lists(site: Site) -> Iterator[_File]:
    """The list of campaigns, its first page last."""
    first = campaigns.campaigns(site, Filter())
    for number in range(first.values["pages"], 1, -1):
        yield from _page(site, campaigns.campaigns(site, Filter(page=number)))
    yield from _page(site, first)


def _made(
    site: Site, place: str, make: Callable[[], Page], rests_on: str | None
) -> Iterator[_File]:
    """A page and its document, which are made only if ``rests_on`` has changed."""
    page = cache(make)  # once for both
    yield _File(f"{place}{DOCUMENT}", lambda: documents.text(site, page()).encode(), rests_on)
    yield _File(f"{place}{INDEX}", lambda: render(site, page()).encode(), rests_on)


def _page(site: Site, page: Page) -> Iterator[_File]:
    """A page that is always made, and written with its document if their content has changed."""
    yield from _made(site, page.place, lambda: page, None)


def _published(site: Site) -> object:
    return PublishedReports(site.store).ids()


def _house(site: Site) -> str:
    """A hash of what every page depends on: language, gates, and Benchlab's own files."""
    package = resources.files("benchlab")
    gates = sorted((site.home.configs / "quality").glob("*.yaml"))
    contents = itertools.chain(_contents(package), (path.read_bytes() for path in gates))
    digests = (hashlib.sha256(content).hexdigest() for content in contents)
    return _digest(site.language.code, *digests)


def _contents(folder: Traversable) -> Iterator[bytes]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _contents(entry)
        elif not entry.name.endswith(".pyc"):
            yield entry.read_bytes()


def _digest(*parts: object) -> str:
    """A hash of the parts; their ``repr`` has to be the same for equal values."""
    texts = (part if isinstance(part, bytes) else repr(part).encode() for part in parts)
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:24]


# Where the files are kept: a directory, or a prefix in an S3 bucket

_CORRECT = "correct `--to s3://bucket/prefix` and `--region`"


class Folder(ABC):
    """Stores files by name, such as ``campaigns/c1/index.html``.

    Every method raises :class:`PublishError` if it fails.
    """

    @abstractmethod
    def names(self) -> set[str]:
        """The names of all files in it, whoever wrote them."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A file's content; None if it does not exist."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically: readers see the old or the new content."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""


def folder_at(to: str, region: str, access: Access) -> Folder:
    """The folder at an address: a directory, or ``s3://bucket/prefix``.

    Args:
        region: that of the bucket; not used for a directory.

    Raises:
        SpecError: it is another kind of address.
        PublishError: no client for S3 can be created.
    """
    parts = urlsplit(to)
    if parts.scheme == "s3" and parts.netloc:
        return _Objects(to, parts.netloc, parts.path.strip("/"), region, access)
    if "://" in to:
        raise SpecError(f"--to {to!r}: name a directory, or s3://bucket/prefix")
    return _Directory(Path(to))


class _Directory(Folder):
    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def names(self) -> set[str]:
        with self._errors("listing", self._path):
            return {
                path.relative_to(self._path).as_posix()
                for path in self._path.rglob("*")
                if path.is_file()
            }

    def read(self, name: str) -> bytes | None:
        path = self._place(name)
        with self._errors("reading", path):
            return path.read_bytes() if path.is_file() else None

    def write(self, name: str, content: bytes) -> None:
        path = self._place(name)
        part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        with self._errors("writing", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        path = self._place(name)
        with self._errors("removing", path):
            path.unlink(missing_ok=True)
            for parent in path.relative_to(self._path).parents:
                folder = self._path / parent
                if folder == self._path or any(folder.iterdir()):
                    break
                folder.rmdir()

    def _place(self, name: str) -> Path:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise PublishError(f"site file {name!r}: not a path within {self._path}")
        return self._path / parts

    @contextmanager
    def _errors(self, doing: str, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PublishError(f"{doing} {path}: {meaning_of(error)}") from error


class _Objects(Folder):
    def __init__(self, to: str, bucket: str, prefix: str, region: str, access: Access) -> None:
        self._bucket = Bucket.at(f"--to {to}", bucket, region, access, correct=_CORRECT)
        self._prefix = f"{prefix}/" if prefix else ""

    def names(self) -> set[str]:
        found = self._bucket.listing(self._prefix)
        return {key.removeprefix(self._prefix) for key in found}

    def read(self, name: str) -> bytes | None:
        return self._bucket.read(self._prefix + name)

    def write(self, name: str, content: bytes) -> None:
        self._bucket.put(self._prefix + name, content, changes=True)

    def remove(self, name: str) -> None:
        self._bucket.remove(self._prefix + name)
