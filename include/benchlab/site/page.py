"""A page of the site, and how it becomes HTML."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.language import Language, codes, load
from benchlab.language import templates as templates_module
from benchlab.language.names import items, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.report.formats import html
from benchlab.report.sentences import answer
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.site import phases
from benchlab.site.links import Links
from benchlab.studies.comparisons import Comparisons

ASSETS = "assets/"
# Written as files, a campaign with more trials has no page for each.
MOST_TRIAL_PAGES = 100
# In the order of the navigation: the place and the message of each part of the site.
PARTS = {"": "overview", "campaigns/": "campaigns", "history/": "history", "plan/": "plan"}


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
        place: where it lies (:mod:`benchlab.site.links`).
        part: the place of the part of the site that it belongs to, one of :data:`PARTS`.
        title: of the window and the heading; in the reader's language.
        template: its template's file.
        values: what the template needs beside what every template has.
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
    return {"page.css": html.style().encode(), **files}


@cache
def _digest(name: str) -> str:
    """Changes with the file, so that no browser uses an older one."""
    return hashlib.sha256(assets()[name]).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    made, of_reports = templates_module.environment("benchlab.site"), html.environment()
    # A campaign's page has parts of its report: their templates, with what these call.
    made.loader = jinja2.ChoiceLoader([one for one in (made.loader, of_reports.loader) if one])
    made.globals.update(of_reports.globals)
    made.filters.update({name: of_reports.filters[name] for name in ("shown", "place")})
    made.filters.update(title=title_of, time=_time)
    made.globals.update(items=items, signs=answer.SIGNS, MISSING=MISSING, phases=phases)
    return made


def _time(when: datetime | None) -> Markup:
    """A moment in UTC, which the script writes in the reader's zone."""
    if when is None:
        return Markup(MISSING)
    at = when.astimezone(UTC)
    moment = at.isoformat(timespec="seconds")
    return Markup(f'<time datetime="{moment}">{at:%Y-%m-%d %H:%M} UTC</time>')
