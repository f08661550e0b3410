"""What a script adds to every table: its columns sort it, and it is copied as it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from benchlab.site.page import assets
from benchlab_airflow.page.app import HEADERS

PLAIN = """
<table><thead><tr><th>Workload</th><th class="number">Change</th><th>When</th><th></th></tr></thead>
<tbody>
<tr><th>Insert<br><span>tpcc|x</span></th><td><span aria-hidden="true">▼</span> \u22128.2 %</td>
<td><time datetime="2026-11-02T02:00:00+00:00">yesterday</time></td><td><svg></svg></td></tr>
<tr><th>Delete</th><td>n/a</td>
<td><time datetime="2026-11-09T02:00:00+00:00">today</time></td><td></td></tr>
<tr><th>Update</th><td>+1,234.5 %</td>
<td><time datetime="2026-10-02T02:00:00+00:00">long ago</time></td><td></td></tr>
<tr hidden><th>Hidden</th><td>+1 %</td><td></td><td></td></tr>
</tbody></table>
"""
SPANNED = """
<table><thead>
<tr><th rowspan="2">Threads</th><th colspan="2">v1</th><th colspan="2">v2</th></tr>
<tr><th>tps</th><th>p95</th><th>tps</th><th>p95</th></tr>
</thead><tbody>
<tr><td rowspan="2">4</td><td>1</td><td>2</td><td>3</td><td>4</td></tr>
<tr><td>5</td><td>6</td><td>7</td><td>-2+3+cmd|x</td></tr>
</tbody></table>
"""
# As the server sorts it: the second address is what a click on it would ask for.
LISTED = (
    '<table data-whole><thead><tr><th aria-sort="descending"><a href="?order=id">Id'
    '<span aria-hidden="true"> ↓</span></a></th><th>Note</th><th>Took</th></tr></thead><tbody>'
    + "".join(
        f'<tr><th>c{n:02}</th><td><input type="checkbox"> note {n % 4}</td>'
        f'<td data-sort="{n * 600}">{"45 min" if n < 6 else "2 h"}</td></tr>'
        for n in range(12, 0, -1)
    )
    + "</tbody></table>"
)
ANSWER = '<div data-copy="answer"><p>It is slower.</p><p>All trials <b>are valid</b>.</p></div>'
SCRIPT = (
    '<script src="/tables.js" data-markdown="As Markdown" data-csv="As CSV" data-search="Search" '
    'data-copied="Copied." data-refused="Refused." data-missing="n/a"></script>'
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of both tables, with what pages may load."""
    # An address with which a browser allows the clipboard; nothing listens there.
    with browser.new_context(base_url="http://127.0.0.1:9") as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        html = (
            f'<!DOCTYPE html><html lang="en"><main>{PLAIN}{ANSWER}{SPANNED}{LISTED}</main>{SCRIPT}'
        )
        context.route("**/tables.js", _answering(assets()["tables.js"].decode(), "text/javascript"))
        context.route("http://127.0.0.1:9/", _answering(html, "text/html"))
        page, faults = context.new_page(), list[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto("/")
        yield page
        assert faults == []


def _answering(body: str, kind: str) -> Callable[[Route], None]:
    headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}
    return lambda route: route.fulfill(body=body, headers=headers)


def shown(page: Page) -> list[str]:
    """The headings of the first table's rows, in their order."""
    return names(page.locator("table").first)


def names(table: Locator) -> list[str]:
    """The headings of the rows that are shown."""
    return [name.split("\n")[0] for name in table.locator("tbody th:visible").all_inner_texts()]


def copied(page: Page, form: str, table: int) -> str:
    """What is in the clipboard after a button of a table."""
    bar = page.locator(".copying").nth(table)
    bar.get_by_role("button", name=form).click()
    expect(bar.get_by_role("status")).to_have_text("Copied.")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_column_sorts_by_what_it_means_and_what_is_missing_is_last(page: Page) -> None:
    """Numbers as numbers, times as times, by mouse and keyboard; the heading says which way."""
    change = page.get_by_role("button", name="Change")
    change.click()
    assert shown(page) == ["Insert", "Update", "Delete"]
    change.press("Enter")
    assert shown(page) == ["Update", "Insert", "Delete"]
    heading = page.get_by_role("columnheader", name="Change")
    expect(heading).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="When").click()
    assert shown(page) == ["Update", "Insert", "Delete"]
    expect(heading).not_to_have_attribute("aria-sort", "descending")
    assert page.get_by_role("button", name="Threads").count() == 0, "rows would lose their group"


def test_a_table_is_copied_as_markdown(page: Page) -> None:
    """As it is shown and sorted, without charts; times in UTC; it stays one table on GitHub."""
    page.get_by_role("button", name="Workload").click()
    assert copied(page, "As Markdown", 0) == (
        "| Workload | Change | When |\n"
        "| --- | --- | --- |\n"
        "| Delete | n/a | 2026-11-09T02:00:00+00:00 |\n"
        "| Insert; tpcc\\|x | \u22128.2 % | 2026-11-02T02:00:00+00:00 |\n"
        "| Update | +1,234.5 % | 2026-10-02T02:00:00+00:00 |\n"
    )


def test_a_table_is_copied_as_csv(page: Page) -> None:
    """With one row of headings; no spreadsheet takes a text for a formula."""
    assert copied(page, "As CSV", 2) == (
        'Threads,"v1, tps","v1, p95","v2, tps","v2, p95"\n4,1,2,3,4\n4,5,6,7,\'-2+3+cmd|x\n'
    )


def test_an_answer_is_copied_with_the_table_below_it(page: Page) -> None:
    """For a pull request: sentences, then the figures."""
    said = copied(page, "As Markdown", 1)
    assert said.startswith("It is slower.\n\nAll trials are valid.\n\n| Threads | v1, tps |")
    assert copied(page, "As CSV", 1).startswith("It is slower.\nAll trials are valid.\nThreads,")


def test_a_list_that_is_whole_is_sorted_and_searched_where_it_is(page: Page) -> None:
    """No server is asked; the address keeps the order, and the words may stand anywhere."""
    table = page.locator("table").last
    table.get_by_role("button", name="Id").click()
    assert names(table) == [f"c{n:02}" for n in range(1, 13)]
    assert page.url.endswith("?order=id")
    table.get_by_role("button", name="Id").click()
    assert page.url.endswith("?order=-id")
    assert page.get_by_role("searchbox").count() == 1, "short tables are read at a glance"
    page.get_by_role("searchbox", name="Search").fill("NOTE 3 c")
    assert names(table) == ["c11", "c07", "c03"]
    expect(page.get_by_text("3 / 12")).to_be_visible()
    expect(table.locator("input:enabled")).to_have_count(3)  # what is hidden is not sent
    table.get_by_role("button", name="Took").click()
    assert names(table) == ["c03", "c07", "c11"], "hours after minutes"


def test_what_a_browser_refuses_is_said(page: Page) -> None:
    """Where neither way is allowed, nobody believes that something was copied."""
    page.evaluate(
        "() => { Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        " document.execCommand = () => false; }"
    )
    page.get_by_role("button", name="As CSV").first.click()
    expect(page.get_by_role("status").first).to_have_text("Refused.")
