"""What was not understood is listed in the language of the page made from the report."""

from __future__ import annotations

import re

import pytest

from benchlab.language import english, load
from benchlab.published.reading.model import Unread
from benchlab.published.rendering import bundle
from benchlab.published.rendering.page import Page
from benchlab.published.rendering.unread import in_language
from tests.builders.published_page import PAIRS, page, read, table

FURTHER = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", "1", "2"])


def _of(*headings: str) -> str:
    return page(("Insert", table(headings, ["8"] * len(headings))), ("Point Select", PAIRS))


# By a word of what is listed: a page of which that is listed.
PAGES = {
    "HTML": page(("Insert", f"<table><tr><td>8</td></tr></table>\n\n{PAIRS}")),
    "comment": page(("Insert", f"<!--\n{PAIRS}\n-->\n\n{PAIRS}")),
    "lines with": page(("Insert", PAIRS), ("Point Select", "8 | 9 | 7 | 6 | 5\n9 | 8 | 7 | 6 | 5")),
    "YAML": page(("Insert", PAIRS)).replace("title: TiDB", "title: a: TiDB", 1),
    "known metric": _of("Threads", "Mood (happy)"),
    "further": page(("Insert", f"{PAIRS}\n\nOn six hosts:\n\n{FURTHER}")),
    "sentence": page(("Insert", f"{PAIRS}\n\nOn six:\n\n{FURTHER}\n\nv5.1 is 50% faster.")),
    "has 3 versions": page(
        *[
            ("Insert", f"{version}:\n\n{table(['Threads', 'QPS'], ['8', '1'])}")
            for version in ("v5.0", "v5.1", "v5.2")
        ],
        ("Point Select", PAIRS),
    ),
    "the column": page(("Insert", table(["Threads", "v5.0 QPS", "It's"], ["8", "1", "2"]))),
    "the cell": page(("Insert", PAIRS.replace("| 1520 |", "| 1520\\* |"))),
    "a row of 2 cells": page(("Insert", f"{PAIRS}\n| 8 | 7 |")),
    "thread count": page(("Insert", PAIRS.replace("| 16 |", "| 8 (b) |"))),
    "without version": page(
        ("Insert", table(["Version", "Threads", "QPS"], ["?", "8", "1"], ["v5.1", "8", "2"]))
    ),
    "improvements of qps": page(
        (
            "",
            table(["Threads", "v5.0 tpmC", "v5.1 tpmC"], ["8", "44", "55"])
            + "\n\n"
            + table(["Threads", "v5.0 QPS", "v5.1 QPS", "QPS gain (%)"], ["8", "1", "2", "100"]),
        ),
        kind="TPC-C",
    ),
    "figures of v5.0": page(("Insert", f"{PAIRS}\n| 8 | 7 | 8.10 | 1,100.55 | 7.30 | 10.00% |")),
    "figures of the improvement": page(
        ("Insert", f"{PAIRS}\n| 8 | 1,000.5 | 8.10 | 1,100.55 | 7.30 | 11.00% |")
    ),
    "no heading": page(("Colours", PAIRS), ("Point Select", PAIRS)),
    "of which version": _of("Threads", "QPS"),
    "no column of figures": "a table of results (Threads | Sum): no column of figures",
    "figure twice": _of("Threads", "v5.0 QPS", "v5.0 QPS"),
    "columns of threads": _of("Threads", "Threads", "v5.1 QPS"),
    "): 3 versions": _of("Threads", "v5.0 QPS", "v5.1 QPS", "v5.2 QPS"),
    "some figures alone": _of("Threads", "QPS", "v5.1 QPS"),
    "several columns": _of("Threads", "v5.0 QPS", "Improvement", "QPS improvement"),
}


def _listed(word: str) -> Unread:
    text = PAGES[word]
    if not text.startswith("---"):
        return Unread(1, text)
    return next(unread for unread in read(text, "page.md").unread if word in unread.what)


@pytest.mark.parametrize("word", PAGES)
def test_english_repeats_what_was_recorded(word: str) -> None:
    """Word by word: if a form no longer matched the recorded one, the text would differ."""
    found = _listed(word)
    assert in_language(found, english()) == found.what


@pytest.mark.parametrize("word", PAGES)
def test_chinese_has_words_of_its_own(word: str) -> None:
    """With the page's own numbers, and none of the English words beside what the page prints."""
    found = _listed(word)
    text = in_language(found, load("zh"))
    assert re.search("[\u4e00-\u9fff]", text)
    assert not re.search(r"\b(?:the|of|at|a|that|neither|without|versions|threads)\b", text), text
    assert sorted(re.findall(r"\d+", text)) == sorted(
        re.findall(r"\d+", found.what.replace("two", ""))
    )


def test_what_no_form_is_known_of_stays_as_it_was_recorded() -> None:
    """Another program may have listed it."""
    assert in_language(Unread(7, "a picture"), load("zh")) == "a picture"


def test_a_chinese_page_lists_it_in_chinese() -> None:
    """Its note also covers more than tables and cells."""
    found = read(PAGES["the cell"], "page.md")
    text = bundle.markdown(Page(found, load("zh")))
    assert "单元格 '1520\\*'" in text
    assert "the cell" not in text
    assert "文字和 front matter" in text
