"""The charts of a report, in its language."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.language import english, load
from benchlab.report import bundle, charts
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.results.records import Campaign, TrialResult
from tests.builders import campaigns


def case(**environment: str) -> tuple[Campaign, Comparison, list[TrialResult]]:
    """A campaign with a change, both sides of one version so that they are called by name."""
    made = campaigns.campaign(
        rounds=3,
        workloads=["oltp_insert"],
        sides="same",
        slowdown_pct=10.0,
        environment={"engine_title": "MariaDB", **environment},
    )
    results = campaigns.results_of(made.plan, campaigns.known_change({"oltp_insert": -0.1}, 0.002))
    return made, compare(made.plan, results, 2.0), results


def drawn_texts(report: Report) -> list[str]:
    """Every text in the charts of a report."""
    roots = [ET.fromstring(content) for content in charts.files(report).values()]  # noqa: S314
    return ["".join(text.itertext()) for root in roots for text in root.findall(".//{*}text")]


def test_chinese_charts_say_in_chinese_the_figures_of_the_english_ones() -> None:
    """No English word but names and units, and no other figure; whatever fonts are here."""
    said, reference = (
        drawn_texts(model.build(*case(), language=language)) for language in (load("zh"), english())
    )
    assert {"客户端线程数", "← 候选更慢", "折线：几何平均值；浅色点：单个轮次"} <= set(said)
    words = re.findall(r"[A-Za-z]{2,}", " ".join(said))
    assert set(words) == {"MariaDB", "Insert", "TPS", "ms"}
    figures = [Counter(re.findall(r"[\d.,]*\d", " ".join(texts))) for texts in (said, reference)]
    assert figures[0] == figures[1]


def test_a_page_of_each_language_has_charts_beside_it() -> None:
    """In its own folder, as the page that refers to them."""
    files = bundle.make(*case(), languages=("en", "zh"))
    for name in ("overview", "oltp_insert"):
        assert f"charts/{name}.svg" in files["report.md"].decode()
        assert files[f"zh/charts/{name}.svg"] != files[f"charts/{name}.svg"]


def test_a_recorded_name_is_text_in_a_chart() -> None:
    """Neither markup nor a letter is lost."""
    report = model.build(*case(engine_title="数据 <b>&base"))
    assert any(text.startswith("数据 <b>&base 10.2.11") for text in drawn_texts(report))
