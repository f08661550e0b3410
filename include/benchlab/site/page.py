"""Pages of the site, their addresses, and rendering them as HTML.

A *place* is where a page lies from the site's root, such as ``campaigns/c1/``; ``""`` is the
overview.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from benchlab.campaign.progress import ProgressNote
from benchlab.charts.picture import script
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.language import Language, codes, load, side_name
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.report_type import SIDES
from benchlab.plan.resolved import Request, Resolved
from benchlab.report.formats import pages
from benchlab.report.sentences.findings import changes
from benchlab.results.findings import JUDGED
from benchlab.results.records import Campaign
from benchlab.results.revisions import own_version
from benchlab.results.store import Store
from benchlab.studies.comparisons import Comparisons

ASSETS = "assets/"
# In a site of files, campaigns with more trials have no pages of trials.
MOST_TRIAL_PAGES = 100
_DATABASE = re.compile(r'\b(sqlite|mysql|mariadb|postgresql)(\+\w+)?://[^\s<"\\]*[^\s<"\\:;,.]')
# The parts of the site in the order of the navigation: place, and end of the message's id.
PARTS = {f"{name}/": name for name in ("findings", "campaigns", "compare", "history", "plan")}
PARTS = {"": "overview", **PARTS}
# Those that need a server.
ASKING = ("compare", "plan")


INDEX, DOCUMENT = "index.html", "index.json"
_STEP = re.compile(r"[^/]+/")


@dataclass(frozen=True)
class Links:
    """Makes the addresses that a page links to, relative to its own place ``here``.

    Attributes:
        as_files: whether the site is plain files; a place is then a folder with ``index.html``.

    Example:
        ``Links("campaigns/c1/").to("history/", workload="tpcc")`` is
        ``../../history/?workload=tpcc``.
    """

    here: str
    as_files: bool = False

    def to(self, place: str, **query: str | int | None) -> str:
        """The address of a place or file; arguments that are None are left out of the query."""
        is_page = place == "" or place.endswith("/")
        path = "../" * len(_STEP.findall(self.here)) + quote(place)
        if self.as_files:
            return f"{path}{INDEX}" if is_page else path
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return (path or "./") + (f"?{given}" if given else "")


Row = Mapping[str, Any]
"""A row of a table: values by the names that its template uses."""


class PageError(BenchlabError):
    """The site cannot show or do something; its message is shown in the reader's language."""


class NoSuchPage(PageError):
    """A page does not exist, or the reader may not see it; the message says what is missing."""


RunState = Literal["failed", "waiting", "skipped"]
"""Of a run without a campaign; waiting: it has not ended; skipped: there was nothing to measure."""


@dataclass(frozen=True)
class RunOfDag:
    """A run of a report type's DAG, which may have begun no campaign.

    Attributes:
        origin: the origin of the campaign that it began, if it began one.
        at: when it was due, with a time zone.
        why: why it failed or measured nothing; empty if not known.
    """

    report: str
    run: str
    origin: str
    state: RunState
    at: datetime
    why: str = ""


@dataclass(frozen=True)
class Site:
    """What every page needs: store, language, time, and the reader's rights.

    Addresses are relative to the site's root.

    Attributes:
        now: the time that ages and remaining times refer to, with a time zone.
        reports: the report types that the reader may see; None: all.
        as_files: whether pages are written as plain files, without what needs a server.
        as_json: whether pages are asked for as JSON (:mod:`benchlab.site.documents`).
        may_change: whether the reader may use forms that change something.
        guard: the CSRF token of every form; empty if nothing can be changed.
        starts_at: the address that starts a run when posted to, with ``{report}`` for the report
            type; empty if no run can be started.
        run_of: returns the address of the run that measured a campaign, empty if there is none;
            None: runs cannot be reached.
        ask: resolves a request by asking mirrors and servers, and returns None until they have
            answered; None: they are not asked for this reader.
        paused_dag: returns the address of a report type's DAG if it is paused, so that no run
            begins, else an empty text; None: not known.
        runs_of: returns the latest runs of the DAGs of report types; None: runs cannot be reached.
    """

    home: Home
    store: Store
    language: Language
    now: datetime
    reports: Collection[str] | None = None
    as_files: bool = False
    as_json: bool = False
    may_change: bool = False
    guard: str = ""
    starts_at: str = ""
    run_of: Callable[[Campaign], str] | None = None
    ask: Callable[[Request], Resolved | None] | None = None
    paused_dag: Callable[[str], str] | None = None
    runs_of: Callable[[Collection[str]], list[RunOfDag]] | None = None

    @cached_property
    def comparisons(self) -> Comparisons:
        """Comparisons, computed once for this site object."""
        return Comparisons(self.home, self.store)

    def shows(self, report: str) -> bool:
        """Whether the reader may see a report type."""
        return self.reports is None or report in self.reports

    def has_trial_pages(self, trials: int) -> bool:
        """Whether a campaign with this many planned trials has pages of trials.

        As files, only small campaigns do: pages of hundreds of trials would add megabytes, and the
        report has the figures.
        """
        return not self.as_files or trials <= MOST_TRIAL_PAGES


@dataclass(frozen=True)
class Page:
    """A page, not yet rendered.

    Attributes:
        place: where it lies from the site's root.
        part: the part of the site that it belongs to, one of :data:`PARTS`.
        template: a file in ``templates/``.
        values: the variables of the template.
        query: its query, which links to other languages repeat.
        form: the form of sentences, such as ``single``; see :class:`benchlab.language.Language`.
    """

    place: str
    part: str
    title: str
    template: str
    values: Mapping[str, Any]
    query: Mapping[str, str] = field(default_factory=dict)
    form: str = ""


def render(site: Site, page: Page, *, fragment: bool = False) -> str:
    """Render a page as HTML.

    Args:
        fragment: without the frame, for a script to update part of an open page.
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
        "changes_of": lambda finding: changes(finding, language),
        "to": links.to,
        "parts": {
            place: name for place, name in PARTS.items() if not (site.as_files and name in ASKING)
        },
        "languages": {code: load(code).name for code in codes()},
        "frame": "bare.html.j2" if fragment else "frame.html.j2",
        "asset": lambda name: (
            links.to(f"{ASSETS}{name}") + ("" if site.as_files else f"?{_digest(name)}")
        ),
    }
    return without_places_here(site.home, template.render(values))


def without_places_here(home: Home, page: str) -> str:
    """A page without URLs of databases and paths of the installation, which errors may name.

    Example: ``without_places_here(site.home, "no room in /srv/benchlab/objects")``
    """
    page = _DATABASE.sub("BENCHLAB_STORE_URL", page)
    for folder, name in ((home.root, "BENCHLAB_HOME"), (home.project, "BENCHLAB_PROJECT")):
        path = re.escape(str(Markup.escape(folder)))
        page = re.sub(rf"(?<![\w./-]){path}(?![\w-])", f"${name}", page)
    return page


def assets() -> dict[str, bytes]:
    """The files that pages load, by name: style sheets and scripts."""
    folder = resources.files("benchlab.site").joinpath("assets")
    files = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    scripts = {f"{name}.js": script(name).encode() for name in ("charts", "flame")}
    return {"page.css": pages.style().encode(), **scripts, **files}


@cache
def _digest(name: str) -> str:
    """A hash of an asset; in its address, it keeps browsers from using an older one."""
    return hashlib.sha256(assets()[name]).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    made = pages.environment("html", "benchlab.site")
    made.filters.update(title=title_of, time=_time)
    made.globals.update(
        say_failed=failed_stage, say_phase=phase, say_step=step, JUDGED=JUDGED, DOCUMENT=DOCUMENT
    )
    made.globals.update(VERSION=own_version())
    return made


def _time(when: datetime | None) -> Markup:
    """A time in UTC as HTML; a script converts it to the reader's time zone."""
    if when is None:
        return Markup(MISSING)
    at = when.astimezone(UTC)
    moment = at.isoformat(timespec="seconds")
    return Markup(f'<time datetime="{moment}">{at:%Y-%m-%d %H:%M} UTC</time>')


# Stages and phases in the reader's language; progress records them in English


def stage(name: str, language: Language) -> str:
    """The name of a stage, such as ``give back``, in the language."""
    return _said(f"stage-{_key(name)}", name, language)


def phase(name: str, language: Language) -> str:
    """The name of a phase of a stage or trial; free text is returned unchanged."""
    side = next((side for side in SIDES if name.endswith(f" {side}")), None)
    if side is None:
        return _said(f"phase-{_key(name)}", name, language)
    own = name.removesuffix(f" {side}")
    what = _said(f"phase-{_key(own)}", own, language)
    return language.say("phase-of-side", phase=what, side=language.text(side_name(side)))


def failed_stage(name: str, language: Language) -> str:
    """The name of a failed stage, phase or task: ``back up`` for ``prepare_first.back_up``."""
    words = name.rpartition(".")[2].replace("_", " ")
    own = re.sub(" (first|second)$", "", words)
    return stage(own, language) if language.has(f"stage-{_key(own)}") else phase(own, language)


def step(noted: ProgressNote, language: Language) -> str:
    """The stage and phase of a campaign: ``prepare · load candidate``."""
    return f"{stage(noted.stage, language)} · {phase(noted.phase, language)}"


def _key(name: str) -> str:
    return re.sub("[^a-z]+", "-", name)


def _said(message: str, name: str, language: Language) -> str:
    return language.say(message) if language.has(message) else name
