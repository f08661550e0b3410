"""A page of the site, and how it becomes HTML."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from benchlab.campaign.progress import ProgressNote
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.language import Language, codes, load, side_name
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.report_type import SIDES
from benchlab.plan.resolved import Request, Resolved
from benchlab.report.formats import pages
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies.comparisons import Comparisons

ASSETS = "assets/"
# Written as files, a campaign with more trials has no page for each.
MOST_TRIAL_PAGES = 100
# In the order of the navigation: the place and the message of each part of the site.
PARTS = {"": "overview", "campaigns/": "campaigns", "history/": "history", "plan/": "plan"}


INDEX = "index.html"
_STEP = re.compile(r"[^/]+/")


@dataclass(frozen=True)
class Links:
    """The addresses that one page uses.

    Attributes:
        here: the place of the page.
        as_files: whether the site is a folder of files, in which a place is a folder with a page.

    Example:
        ``Links("campaigns/c1/").to("history/", workload="tpcc")`` is
        ``../../history/?workload=tpcc``.
    """

    here: str
    as_files: bool = False

    def to(self, place: str, **query: str | int | None) -> str:
        """The address of a place, or of a file; a query of None is left out."""
        is_page = place == "" or place.endswith("/")
        path = "../" * len(_STEP.findall(self.here)) + quote(place)
        if self.as_files:
            return f"{path}{INDEX}" if is_page else path
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return (path or "./") + (f"?{given}" if given else "")


Row = Mapping[str, Any]
"""A row of a table, as its template names what is in it."""


class PageError(BenchlabError):
    """The site does not show or do something; its message is said in the reader's language."""


class NoSuchPage(PageError):
    """There is no such page, or the reader may not see it; the message says what is missing."""


@dataclass(frozen=True)
class Site:
    """What every page needs.

    Attributes:
        reports: the report types that the reader may see; None: all.
        as_files: whether the pages are written as files, without what only a server can do.
        may_change: whether the reader may change what a page offers to change.
        guard: the value that every form sends back, so that no other site can send it for the
            reader; empty where nothing can be changed.
        starts_at: where a run is asked for, from the site's first page, with ``{report}`` for the
            report type; empty where none can be started.
        run_of: the place of the run that measured a campaign, from the site's first page; empty
            where there is none. None where no runs can be reached.
        ask: what mirrors and servers say of a request, None until they have answered; None where
            they are not asked for the reader.
        paused_dag: the place of a report type's DAG, likewise, where it is paused, so that no run
            begins, neither by its schedule nor by a person. None where that is not known.
    """

    home: Home
    store: Store
    language: Language
    now: datetime
    reports: Collection[str] | None = None
    as_files: bool = False
    may_change: bool = False
    guard: str = ""
    starts_at: str = ""
    run_of: Callable[[Campaign], str] | None = None
    ask: Callable[[Request], Resolved | None] | None = None
    paused_dag: Callable[[str], str] | None = None

    @cached_property
    def comparisons(self) -> Comparisons:
        """The comparisons that the pages of one answer share."""
        return Comparisons(self.home, self.store)

    def shows(self, report: str) -> bool:
        """Whether the reader may see a report type."""
        return self.reports is None or report in self.reports

    def has_trial_pages(self, trials: int) -> bool:
        """Whether the trials of a campaign that has planned so many have pages.

        As files only those of small campaigns do: a fleet's hundreds of series are megabytes that
        nobody asked for, and its report has the figures.
        """
        return not self.as_files or trials <= MOST_TRIAL_PAGES


@dataclass(frozen=True)
class Page:
    """One page, not yet rendered.

    Attributes:
        place: where it lies (:mod:`benchlab.site.page`).
        part: the place of the part of the site that it belongs to, one of :data:`PARTS`.
        query: what was asked of it, which its address in another language repeats.
        form: of its sentences; see :class:`benchlab.language.Language`.
    """

    place: str
    part: str
    title: str
    template: str
    values: Mapping[str, Any]
    query: Mapping[str, str] = field(default_factory=dict)
    form: str = ""


def render(site: Site, page: Page, *, fragment: bool = False) -> str:
    """A page as HTML.

    Args:
        fragment: only the page's own part, without the frame, to be put into the page again.
    """
    links = Links(page.place, site.as_files)
    template = _environment().get_template(page.template)
    language = load(site.language.code, page.form)
    values = {
        **page.values,
        "site": site,
        "page": page,
        "language": language,
        "say": language.say,
        "numbers": Numbers(language),
        "to": links.to,
        "parts": PARTS,
        "languages": {code: load(code).name for code in codes()},
        "frame": "bare.html.j2" if fragment else "frame.html.j2",
        "asset": lambda name: (
            links.to(f"{ASSETS}{name}") + ("" if site.as_files else f"?{_digest(name)}")
        ),
    }
    return template.render(values)


def assets() -> dict[str, bytes]:
    """The files that the pages load, by name: style and script."""
    folder = resources.files("benchlab.site").joinpath("assets")
    files = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    return {"page.css": pages.style().encode(), **files}


@cache
def _digest(name: str) -> str:
    """Changes with the file, so that no browser uses an older one."""
    return hashlib.sha256(assets()[name]).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    made = pages.environment("html", "benchlab.site")
    made.filters.update(title=title_of, time=_time)
    made.globals.update(say_failed=failed_stage, say_phase=phase, say_step=step)
    return made


def _time(when: datetime | None) -> Markup:
    """A moment in UTC, which the script writes in the reader's zone."""
    if when is None:
        return Markup(MISSING)
    at = when.astimezone(UTC)
    moment = at.isoformat(timespec="seconds")
    return Markup(f'<time datetime="{moment}">{at:%Y-%m-%d %H:%M} UTC</time>')


# Stages and phases in the reader's language; progress has them in English


def stage(name: str, language: Language) -> str:
    """A stage: ``give back``."""
    return _said(f"stage-{_key(name)}", name, language)


def phase(name: str, language: Language) -> str:
    """A part of a stage or of a trial; as recorded where it is a text of its own."""
    side = next((side for side in SIDES if name.endswith(f" {side}")), None)
    if side is None:
        return _said(f"phase-{_key(name)}", name, language)
    own = name.removesuffix(f" {side}")
    what = _said(f"phase-{_key(own)}", own, language)
    return language.say("phase-of-side", phase=what, side=language.text(side_name(side)))


def failed_stage(name: str, language: Language) -> str:
    """The stage, phase or task that failed: ``back up`` of ``prepare_first.back_up``."""
    words = name.rpartition(".")[2].replace("_", " ")
    own = re.sub(" (first|second)$", "", words)
    return stage(own, language) if language.has(f"stage-{_key(own)}") else phase(own, language)


def step(noted: ProgressNote, language: Language) -> str:
    """Where a campaign is: ``prepare · load candidate``."""
    return f"{stage(noted.stage, language)} · {phase(noted.phase, language)}"


def _key(name: str) -> str:
    return re.sub("[^a-z]+", "-", name)


def _said(message: str, name: str, language: Language) -> str:
    return language.say(message) if language.has(message) else name
