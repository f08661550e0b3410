"""The first page: the newest campaign of every report type, with its verdicts."""

from __future__ import annotations

from benchlab.site.page import Page, Site


def overview(site: Site) -> Page:
    """The overview of the report types that the reader may see."""
    newest = {}
    for one in site.store.summaries():
        if site.shows(one.report):
            newest.setdefault(one.report, one)
    title = site.language.say("site-part-overview")
    return Page("", "", title, "overview.html.j2", {"newest": newest})
