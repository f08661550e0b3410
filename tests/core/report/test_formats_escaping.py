"""Text from elsewhere stands for itself in a report, and its page refers to nothing outside."""

from __future__ import annotations

import dataclasses
import html.parser
import re

import pytest
import yaml
from markdown_it import MarkdownIt

from benchlab.charts.picture import script
from benchlab.hosts.samples import Figure, HostFigures
from benchlab.plan.report_type import SIDES
from benchlab.report import bundle
from benchlab.report.formats import pages
from benchlab.report.model import report as model
from tests.builders import campaigns
from tests.core.report.test_formats import Case, golden_case

HOSTILE = "<script>alert(1)</script> | a*b*c `x` [y](http://evil.example/) \"q\" 'r' &amp;"


def hostile_case() -> Case:
    """The golden campaign, with every text that comes from elsewhere set to get out of a page."""
    made, outcome, results = golden_case()
    facts = {
        side: campaigns.side_facts(HOSTILE, variables={HOSTILE: side, "tls": f"{side} {HOSTILE}"})
        for side in SIDES
    }
    plan = dataclasses.replace(
        made.plan,
        sides={
            side: spec.model_copy(update={"parameters": {HOSTILE: f"{HOSTILE} {side}"}})
            for side, spec in made.plan.sides.items()
        },
    )
    made = dataclasses.replace(
        made,
        id=HOSTILE,
        plan=plan,
        engine_reason=HOSTILE,
        origin=HOSTILE,
        environment={HOSTILE: HOSTILE, "cores": HOSTILE},
        facts=facts,
        report_type=made.report_type.model_copy(update={"title": HOSTILE}),
    )
    gates = (campaigns.gate(HOSTILE, sentence=HOSTILE),)
    excluded = tuple(dataclasses.replace(e, reasons=(HOSTILE,)) for e in outcome.excluded)
    workloads = tuple(dataclasses.replace(w, reasons=(HOSTILE,)) for w in outcome.workloads)
    outcome = dataclasses.replace(outcome, gates=gates, excluded=excluded, workloads=workloads)
    lost = HostFigures(HOSTILE, reason=HOSTILE)
    found = HostFigures(
        f"{HOSTILE} 2", figures={"cpu_busy": Figure(0.5, 0.5)}, processes={HOSTILE: 0.5}
    )
    return (
        made,
        outcome,
        [dataclasses.replace(r, gates=gates, host_figures=(lost, found)) for r in results],
    )


class Page(html.parser.HTMLParser):
    """Notes tags and attributes of a page, and whether its elements are closed in order."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("case", [golden_case, hostile_case])
def test_the_html_page_stands_alone(case: object) -> None:
    """No script but that of charts, no reference outside, every element closed, every id once."""
    text = bundle.make(*case())["report.html"].decode()  # type: ignore[operator]
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL) == [script("charts")]
    assert not page.tags & {"link", "iframe", "object", "embed", "img", "base", "form"}
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "srcset", "action", "data"):
            assert value.startswith("#")
    style = "".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
    assert "@import" not in style
    assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", text))


def test_hostile_text_stands_for_itself_in_markdown() -> None:
    """No version, variable, reason or title becomes HTML, a link, a table cell or emphasis."""
    text = pages.markdown(model.build(*hostile_case()))
    made = MarkdownIt("commonmark", {"html": True}).enable("table").render(text.split("---\n")[2])
    assert "<script" not in made
    assert "evil.example/)" in made
    assert "<a " not in made
    assert "<em>" not in made
    assert "<code>x</code>" not in made
    assert "a*b*c" in made
    # A table keeps its columns: every row of HTML has as many cells as its header.
    for table in re.findall(r"<table>.*?</table>", made, re.DOTALL):
        header = table.count("<th ") + table.count("<th>")
        for row in re.findall(r"<tr>(?:(?!</tr>).)*<td.*?</tr>", table, re.DOTALL):
            assert row.count("<td") == header


def test_hostile_text_is_no_markup_in_front_matter_either() -> None:
    """Where a renderer takes it for a heading nothing of it is; where it is read it says the same.

    Title and summary have the versions and the engine's name, which servers and targets tell.
    """
    made, outcome, results = hostile_case()
    named = dataclasses.replace(made, environment={**made.environment, "engine_title": HOSTILE})
    _, front, _ = pages.markdown(model.build(named, outcome, results)).split("---\n", 2)
    said = yaml.safe_load(front)
    assert HOSTILE in said["title"]
    assert set(said) == {"title", "summary"}
    page = MarkdownIt("commonmark", {"html": True}).render(f"---\n{front}---\n")
    assert re.findall(r"<[^>]*>", page) == ["<hr />", "<h2>", "</h2>"]


def test_the_markdown_escapes_survive_a_round_trip() -> None:
    """What is escaped reads as it was written."""
    import html as html_module

    for text in (HOSTILE, "_x_ a_b __y__", "1. x", "~~z~~ \\n", "# t", "&lt;b&gt;"):
        made = MarkdownIt("commonmark").renderInline(pages.escape(text))
        assert html_module.unescape(made) == text
