"""The findings as a feed, for readers of Atom and of JSON Feed.

An entry is a finding; it is updated when a campaign shows it again or gone, or a person says
something of it. Addresses are relative to the feed's own, so that a copy of the site's files works
as well.

Atom is RFC 4287, JSON Feed https://www.jsonfeed.org/version/1.1.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from benchlab.language.names import plain, title_of
from benchlab.report.sentences.findings import changes
from benchlab.results.findings import Finding, Sought
from benchlab.site.findings import PLACE
from benchlab.site.page import Links, Site

Form = Literal["atom", "json"]
FORMS: dict[Form, str] = {"atom": "application/atom+xml", "json": "application/feed+json"}
"""The media type of each form."""
_MOST = 100
_ATOM = "http://www.w3.org/2005/Atom"


class _Entry(NamedTuple):
    id: str
    title: str
    text: str
    link: str
    updated: datetime


def place_of(form: Form) -> str:
    """Where the feed of all findings lies from the site's root."""
    return f"{PLACE}feed.{form}"


def feed(site: Site, form: Form, report: str = "", workload: str = "") -> bytes:
    """The newest findings, of one report type or workload if they are given.

    Example: ``feed(site, "atom", "sysbench_ec2_weekly")``
    """
    sought = Sought(report or None, site.reports, workload or None)
    found = site.store.findings.found(sought, _MOST)
    entries = sorted((_entry(site, one) for one in found), key=lambda it: it.updated, reverse=True)
    of = [report, title_of(workload) if workload else ""]
    title = " · ".join(filter(None, [site.language.say("feed-title"), *of]))
    address = f"urn:benchlab:{site.home.mark}:findings:{report}:{workload}"
    return (_atom if form == "atom" else _json)(title, address, entries)


def _entry(site: Site, one: Finding) -> _Entry:
    say = site.language.say
    changed = [
        f"{it.metric} {it.change}" + (f" ({it.interval})" if it.interval else "")
        for it in changes(one, site.language)
    ]
    last = one.history[-1:]
    said = [say("finding-by", by=entry.by) for entry in last if entry.by]
    closed = (entry.campaign for entry in last if entry.state == "fixed" and entry.campaign)
    said += [say("finding-closed", campaign=campaign) for campaign in closed]
    said += [entry.note for entry in last if entry.note]
    state = ", ".join([say(f"finding-state-{one.state}"), *said])
    campaigns = say("site-campaigns", count=len(one.campaigns))
    title = f"{title_of(one.workload)}: {changed[0] if changed else one.direction}"
    return _Entry(
        f"urn:benchlab:{site.home.mark}:finding:{one.id}",
        plain(f"{title}, {one.newest.compared}, {one.report}"),
        "\n".join(map(plain, [*changed, f"{campaigns}; {state}"])),
        f"{Links(PLACE, site.as_files).to(PLACE)}#finding-{one.id}",
        max([one.newest.started_at, *(entry.at for entry in one.history)]),
    )


def _atom(title: str, address: str, entries: list[_Entry]) -> bytes:
    top = ET.Element("feed", xmlns=_ATOM)
    newest = max((one.updated for one in entries), default=datetime.fromtimestamp(0, UTC))
    author = ET.SubElement(top, "author")
    ET.SubElement(author, "name").text = "Benchlab"
    for name, text in (("id", address), ("title", title), ("updated", _moment(newest))):
        ET.SubElement(top, name).text = text
    for one in entries:
        entry = ET.SubElement(top, "entry")
        said = {"id": one.id, "title": one.title, "updated": _moment(one.updated)}
        for name, text in {**said, "content": one.text}.items():
            ET.SubElement(entry, name).text = text
        ET.SubElement(entry, "link", href=one.link)
    return bytes(ET.tostring(top, "utf-8", xml_declaration=True))


def _json(title: str, address: str, entries: list[_Entry]) -> bytes:
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": title,
        "_benchlab": {"id": address},
        "items": [
            {
                "id": one.id,
                "title": one.title,
                "content_text": one.text,
                "url": one.link,
                "date_modified": _moment(one.updated),
            }
            for one in entries
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
