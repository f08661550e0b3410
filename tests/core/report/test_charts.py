"""Charts in the report's language: the fonts that are here, and what is drawn without them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from benchlab import home
from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.cli import doctor
from benchlab.language import REFERENCE, codes, english, load
from benchlab.report import bundle
from benchlab.report.charts import charts, fonts
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.results.records import Campaign, TrialResult
from tests.builders import campaigns

ROOT = Path(__file__).resolve().parents[3]
LOCALES = ROOT / "include" / "benchlab" / "language" / "locale"
ZH = load("zh")
FAMILY = ZH.say("chart-fonts").split(",")[0]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files of the fonts that are installed beside matplotlib's own; none to begin with."""
    manager = font_manager.fontManager
    own = [font for font in manager.ttflist if font.name == fonts.BASE]
    files: list[str] = []
    monkeypatch.setattr(manager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: list(files))
    manager._findfont_cached.cache_clear()  # type: ignore[attr-defined]
    yield files
    manager._findfont_cached.cache_clear()  # type: ignore[attr-defined]


def font_with(letters: Iterable[str], path: Path) -> str:
    """Write a font that has these letters, each of them a square."""
    cmap = {ord(letter): f"uni{ord(letter):04X}" for letter in letters}
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for point in ((100, 700), (800, 700), (800, 0)):
        pen.lineTo(point)
    pen.closePath()
    names = [".notdef", *cmap.values()]
    builder = FontBuilder(1000)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(cmap)
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (900, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return str(path)


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


def chinese(path: Path, without: str = "") -> str:
    """A font for Chinese charts, but for some letters."""
    texts = "".join(file.read_text(encoding="utf-8") for file in LOCALES.glob("zh*.ftl"))
    return font_with(set(texts) - set(without) - set("\n"), path / "chinese.ttf")


def drawn_texts(report: Report, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text in the SVG charts of a report."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    texts: list[str] = []
    save = Figure.savefig

    def kept(figure: Figure, *arguments: Any, **options: Any) -> None:
        save(figure, *arguments, **options)
        if options["format"] == "svg":
            texts.extend(text.get_text() for text in figure.findobj(Text))

    with monkeypatch.context() as patched:
        patched.setattr(Figure, "savefig", kept)
        charts.draw(report)
    return texts


def pictures(*languages: str) -> dict[str, bytes]:
    """The charts of a bundle in these languages."""
    files = bundle.make(*case(), languages=languages)
    return {name: content for name, content in files.items() if "charts/" in name}


def test_without_a_font_charts_are_in_english(installed: list[str]) -> None:
    """A Chinese page has the English charts, to the byte."""
    assert installed == []
    assert fonts.language_of_charts(ZH) is english()
    assert pictures("zh") == pictures("en")


def test_a_font_is_found_although_matplotlib_started_without_it(
    installed: list[str], tmp_path: Path
) -> None:
    """Charts are in Chinese from the moment on that the font is installed."""
    assert fonts.language_of_charts(ZH) is english()
    installed.append(chinese(tmp_path))
    assert fonts.language_of_charts(ZH) is ZH
    found = pictures("en", "zh")
    assert found == pictures("en", "zh")
    for name in ("overview", "oltp_insert"):
        for form in ("svg", "png"):
            assert found[f"zh/charts/{name}.{form}"] != found[f"charts/{name}.{form}"]


def test_english_charts_are_the_same_with_and_without_other_fonts(
    installed: list[str], tmp_path: Path
) -> None:
    """What a machine has for other languages changes no byte of them."""
    before = pictures("en")
    installed.append(chinese(tmp_path))
    assert fonts.language_of_charts(ZH) is ZH
    assert pictures("en") == before


def test_chinese_charts_say_in_chinese_the_figures_of_the_english_ones(
    installed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No English word but names and units, no other figure, no warning of a letter or a font."""
    installed.append(chinese(tmp_path))
    with caplog.at_level(logging.WARNING):
        said, reference = (
            drawn_texts(model.build(*case(), language=language), monkeypatch)
            for language in (ZH, english())
        )
    assert caplog.messages == []
    assert {"客户端线程数", "← 候选更慢  ", "折线：几何平均值；浅色点：单个轮次"} <= set(said)
    words = re.findall(r"[A-Za-z]{2,}", " ".join(said))
    assert set(words) == {"MariaDB", "Insert", "TPS", "ms"}
    figures = [Counter(re.findall(r"[\d.,]*\d", " ".join(texts))) for texts in (said, reference)]
    assert figures[0] == figures[1]


@pytest.mark.parametrize("broken", ["a letter is missing", "unreadable", "gone"])
def test_a_font_that_cannot_be_used_is_none(
    installed: list[str], tmp_path: Path, broken: str
) -> None:
    """No chart has boxes for letters, and none fails."""
    path = Path(chinese(tmp_path, without="候" if broken == "a letter is missing" else ""))
    installed.append(str(path))
    if broken == "unreadable":
        path.write_bytes(b"no font")
    elif broken == "gone":
        assert fonts.language_of_charts(ZH) is ZH
        path.unlink()
        installed.clear()
    assert fonts.language_of_charts(ZH) is english()


def test_a_recorded_name_in_letters_that_no_font_has_is_drawn_with_question_marks(
    installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither boxes nor a warning, which would be an error here."""
    assert installed == []
    report = model.build(*case(engine_title="数据 base"))
    assert any(text.startswith("?? base 10.2.11") for text in drawn_texts(report, monkeypatch))


def test_doctor_names_the_package_of_a_missing_font(installed: list[str], tmp_path: Path) -> None:
    """It blocks nothing: reports are made, with English charts."""

    def finding() -> doctor.Check:
        found = doctor.examine(home.Home(root=tmp_path, project=tmp_path))
        return next(check for check in found if check.what == "font zh")

    missing = finding()
    assert not missing.good
    assert not missing.blocks
    assert "fonts-wqy-microhei" in missing.detail
    installed.append(chinese(tmp_path))
    assert finding().good


@pytest.mark.parametrize("code", [code for code in codes() if code != REFERENCE])
def test_make_setup_installs_the_fonts_of_every_language(code: str) -> None:
    """Where the distribution has them; a machine without them is no broken one."""
    lines = (ROOT / "requirements-debian.txt").read_text(encoding="utf-8").splitlines()
    assert f"?{load(code).say('chart-package')}" in lines
