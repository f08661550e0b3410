"""Reports in several languages: every locale file is whole, and every page says the same."""

from __future__ import annotations

import ast
import html
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
from fluent.syntax import FluentParser, FluentSerializer
from fluent.syntax import ast as ftl
from fluent.syntax.visitor import Transformer, Visitor
from markdown_it import MarkdownIt

from benchlab import engines as catalog
from benchlab import language
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.compare import compare
from benchlab.home import find
from benchlab.language import (
    LanguageError,
    Message,
    load,
    message,
)
from benchlab.report import bundle, gate_files
from benchlab.report.formats import pages as report_pages
from benchlab.report.model import report as model
from tests.builders import campaigns
from tests.core.report.test_formats import Case, golden_bundle, golden_case
from tests.core.report.test_formats_escaping import hostile_case
from tests.core.report.test_model_fleet import case_of as fleet_case
from tests.core.report.test_model_fleet import own_hosts, published_case
from tests.core.report.test_model_tpcc import golden_case as tpcc_case

ROOT = Path(__file__).parents[3]
LOCALE = ROOT / "include" / "benchlab" / "language" / "locale"
OTHERS = [code for code in language.codes() if code != language.REFERENCE]
NUMBER = re.compile(r"(?:(?<![\w-])[+-])?\d+(?:,\d{3})*(?:\.\d+)?")


class Parts(Visitor):
    """The variables of a message, and the messages that it refers to."""

    def __init__(self, entry: ftl.Message) -> None:
        self.variables: set[str] = set()
        self.references: set[str] = set()
        self.visit(entry)

    def visit_VariableReference(self, node: ftl.VariableReference) -> None:  # noqa: N802
        self.variables.add(node.id.name)

    def visit_MessageReference(self, node: ftl.MessageReference) -> None:  # noqa: N802
        self.references.add(node.id.name)


@cache
def messages(code: str) -> dict[str, Parts]:
    """All messages of a language by id; a file that is not Fluent's, or an id twice, is a fault."""
    found: dict[str, Parts] = {}
    path = LOCALE / f"{code}.ftl"
    for entry in FluentParser(with_spans=False).parse(path.read_text("utf-8")).body:
        assert not isinstance(entry, ftl.Junk), f"{path.name}: {entry.content}"
        if isinstance(entry, ftl.Message):
            assert entry.id.name not in found, f"{path.name}: {entry.id.name} occurs twice"
            found[entry.id.name] = Parts(entry)
    return found


def variables(code: str, name: str) -> set[str]:
    """The variables of a message and of the messages that it refers to."""
    parts = messages(code)[name]
    return parts.variables.union(*(variables(code, reference) for reference in parts.references))


def test_chinese_is_one_of_the_languages() -> None:
    """A loader that finds nothing would make every test below pass."""
    assert language.codes()[0] == "en"
    assert "zh" in OTHERS


@pytest.mark.parametrize("code", OTHERS)
def test_every_language_has_the_messages_of_english_with_the_same_values(code: str) -> None:
    """None is missing, none is left over, and none says more or less than English."""
    ids = set(messages(code))
    assert ids == set(messages("en"))
    for name in sorted(ids):
        assert variables(code, name) == variables("en", name), name


def is_used() -> Callable[[str], bool]:
    """Whether the program names a message: as a text, or as one that is put together."""
    exact: set[str] = set()
    patterns: set[str] = set()
    for path in [*(ROOT / "include").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                exact.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else "[a-z0-9-]*"
                    for part in node.values
                ]
                patterns.add("".join(parts))
    for path in (ROOT / "include").rglob("*.j2"):
        text = path.read_text("utf-8")
        exact.update(re.findall(r'"#?([a-z0-9-]+)"', text))
        joined = re.findall(r'"([a-z0-9-]+-)" ~ [\w.]+(?: ~ "(-[a-z0-9-]+)")?', text)
        patterns.update(f"{before}[a-z0-9-]*{after}" for before, after in joined)
    named = re.compile(
        "|".join(p for p in patterns if re.search("[a-z]{3,}", p.replace("a-z", "")))
    )
    return lambda name: name in exact or named.fullmatch(name) is not None


def test_every_message_is_used() -> None:
    """Messages that are no longer used are not translated."""
    used = is_used()
    referred = {name for parts in messages("en").values() for name in parts.references}
    assert [
        name
        for name in messages("en")
        if not used(name.removesuffix("-single").removesuffix("-watch")) and name not in referred
    ] == []


def test_every_gate_has_a_sentence_and_no_sentence_is_of_a_gate_that_is_gone() -> None:
    """Which says the definition's bounds, in every language."""
    gates = gate_files.load_all(find().configs / "quality")
    known = {name for name in messages("en") if name.startswith("gate-")}
    assert known == {f"gate-{gate.id.replace('_', '-')}" for gate in gates}
    for gate in gates:
        english = str(gate.evaluate({}).sentence)
        for code in OTHERS:
            assert numbers(load(code).text(gate.evaluate({}).sentence)) == numbers(english)


def test_no_sentence_is_read_back() -> None:
    """It is stored as id and values, so that mending a sentence changes no old campaign."""
    parsing = re.compile(r"\brecorded\(|\b_REASON\b|\brecorded_as\b")
    files = [path for part in ("include", "plugins") for path in (ROOT / part).rglob("*.py")]
    assert files
    assert [path for path in files if parsing.search(path.read_text(encoding="utf-8"))] == []


def test_a_gate_of_one_s_own_says_what_holds_in_its_own_words() -> None:
    """Also in place of the message that the locale files have for its id."""
    own = Gate(id="duration", sentence="it was quick", column="c", kind="symptom", max=1)
    assert load("zh").text(own.evaluate({"c": 2}).sentence) == "it was quick"


@pytest.mark.parametrize("code", OTHERS)
def test_every_engine_s_caveat_is_said(code: str) -> None:
    """And no language has a caveat for an engine without one."""
    known = {name for name in messages(code) if name.startswith("caveat-")}
    engines = catalog.by_name().items()
    assert known == {f"caveat-{name}" for name, engine in engines if engine.caveat}


@pytest.mark.parametrize("code", language.codes())
def test_messages_of_words_and_texts_read_as_fluent_writes_them(code: str) -> None:
    """They are filled without it, because a page says thousands."""
    said, filled = language.load(code), 0
    for name, written in said._written.items():
        texts = {value: f" {value} " for value in language._parts(written)[1::2]}
        entry = said._entry(name)
        if language._parts(written) and entry and entry.value:
            filled += 1
            assert said.say(name, **texts) == said._bundle.format_pattern(entry.value, texts)[0]
    assert filled > len(said._written) / 2


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    """By its code, before anything is rendered."""
    with pytest.raises(LanguageError, match=r"language 'tlh': there is none; known: en, .*zh"):
        load("tlh")
    with pytest.raises(LanguageError, match="known"):
        bundle.make(*golden_case(), languages=("en", "tlh"))


def test_what_a_server_said_may_be_long() -> None:
    """No report fails because a recorded text is longer than Fluent wants values to be."""
    long = "a line of a log\n" * 5_000
    for spoken in map(load, language.codes()):
        assert long in spoken.say("repeat-because", workload=long, round=1, attempts=2, because="")


def test_a_message_that_is_not_there_or_lacks_a_value_is_an_error() -> None:
    """A page never has half a sentence."""
    with pytest.raises(LanguageError, match="has no message 'no-such'"):
        load("zh").say("no-such")
    with pytest.raises(LanguageError, match="'headline'"):
        load("zh").say("headline", workload="x")
    assert str(message("verdict-regression")) == "regression"
    assert load("zh").text(Message("verdict-regression")) == "性能退化"


# ---------------------------------------------------------------- pages


def aa_case() -> Case:
    """An A/A campaign with a false alarm, whose candidate is not slowed down."""
    made = campaigns.campaign(sides="same", rounds=4)
    results = campaigns.results_of(made.plan, campaigns.known_change({"oltp_point_select": -0.1}))
    return made, compare(made.plan, results, 2.0), results


def slowed_case() -> Case:
    """A candidate that is slowed down; one round."""
    made = campaigns.campaign(slowdown_pct=30, rounds=1)
    results = campaigns.results_of(made.plan)
    return made, compare(made.plan, results, 2.0), results


def empty_case() -> Case:
    """Nothing was measured, nothing is known."""
    made = campaigns.campaign(facts={}, environment={})
    return made, compare(made.plan, [], 2.0), []


CASES: dict[str, Callable[[], Case]] = {
    "golden": golden_case,
    "fleet": published_case,
    "tpcc": tpcc_case,
    "own hosts": lambda: fleet_case(own_hosts()),
    "A/A": aa_case,
    "slowed": slowed_case,
    "empty": empty_case,
}


@cache
def pages(name: str, code: str) -> dict[str, str]:
    """A campaign's pages in one language."""
    report = model.build(*CASES[name](), language=load(code))
    return {
        "report.md": report_pages.markdown(report),
        "report.html": report_pages.html(report),
    }


@cache
def golden_files() -> dict[str, bytes]:
    """All files of the golden campaign in all languages."""
    return bundle.make(*golden_case(), languages=language.codes())


def text_of(page: str) -> str:
    """What a reader of an HTML page reads, pictures left out."""
    page = re.sub(r"<(style|script|svg|nav)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "\n", page))


def numbers(text: str) -> Counter[str]:
    """All numbers; those of dates without leading zeros."""
    found = NUMBER.findall(text)
    return Counter(n if "." in n else n.lstrip("0") or "0" for n in found)


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("name", CASES)
def test_the_pages_of_a_campaign_have_the_same_numbers(name: str, code: str) -> None:
    """Each as often as in English, in Markdown and in HTML."""
    for page in ("report.md", "report.html"):
        english, other = pages(name, "en")[page], pages(name, code)[page]
        if page.endswith("html"):
            english, other = text_of(english), text_of(other)
        assert numbers(other) == numbers(english)


def recorded(name: str) -> list[str]:
    """What a campaign's servers, hosts, trials and report type said, the longest first."""
    report = model.build(*CASES[name]())
    published = report.spec.published
    fleet = report.fleet.roles if report.fleet else ()
    found = [
        *(str(report.campaign.engine_reason), report.spec.title, report.campaign.origin),
        *((published.document, published.client, *published.sentences) if published else ()),
        *(reason for trial in report.quality.excluded for reason in map(str, trial.reasons)),
        *(reason for pair in report.quality.repeats for reason in pair.reasons),
        *(gate.sentence for gate in report.quality.gates),
        *(str(gap.reason) for gap in report.hosts.gaps),
        *(process.name for process in report.hosts.processes),
        *report.software.values(),
        *(section.title for section in report.sections),
        *(value or "" for host in fleet for value in (host.cpu, host.system, host.told)),
    ]
    return sorted((text for text in found if text), key=len, reverse=True)


def english_in(page: str, name: str, words: int) -> list[str]:
    """Runs of so many English words in a page, without code and what was recorded."""
    page = re.sub(r"```.*?```|<pre>.*?</pre>", "\n", page, flags=re.DOTALL)
    page = re.sub(r"\\(.)", r"\1", html.unescape(page)) if page.startswith("---") else text_of(page)
    for text in recorded(name):
        page = page.replace(text, "\n")
    word = r"(?<![\w./-])[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w/-])"
    return re.findall(rf"{word}(?:[ ,;:]+{word}){{{words - 1},}}", page)


@pytest.mark.parametrize("page", ["report.md", "report.html"])
@pytest.mark.parametrize("name", CASES)
def test_no_english_sentence_is_left_in_chinese(name: str, page: str) -> None:
    """Beside commands, identifiers and what was recorded, which a sentence says."""
    text, english = pages(name, "zh")[page], pages(name, "en")[page]
    assert english_in(text, name, words=3) == []
    assert load("zh").say("recorded-texts") in text
    assert load("en").say("recorded-texts") not in english
    assert english_in(english, name, words=3) != []


@pytest.mark.parametrize("code", OTHERS)
def test_a_verdict_in_markdown_is_bold_in_every_language(code: str) -> None:
    """Signs of Chinese beside the asterisks do not keep them from being emphasis."""
    for name in CASES:
        marks = [
            MarkdownIt("commonmark").render(pages(name, language)["report.md"]).count("<strong>")
            for language in ("en", code)
        ]
        assert marks[0] == marks[1] > 0


def test_hostile_text_stands_for_itself_in_chinese_too() -> None:
    """Text in another language is escaped in the same way."""
    report = model.build(*hostile_case(), language=load("zh"))
    text, page = report_pages.markdown(report), report_pages.html(report)
    assert "<script>" not in text + page
    made = MarkdownIt("commonmark").render(text.split("---\n", 2)[2])
    assert "<a " not in made


def test_pages_refer_to_each_other_and_to_what_lies_beside_them() -> None:
    """The first language lies at the top, each other one in its folder; CSV and JSON once."""
    files = golden_files()
    for folder in ("", *(f"{code}/" for code in OTHERS)):
        text = files[f"{folder}report.md"].decode()
        page = files[f"{folder}report.html"].decode()
        links = [
            *re.findall(r"\]\(([^)]+)\)", text),
            *(link for link in re.findall(r'href="([^"]+)"', page) if link[0] != "#"),
        ]
        for link in links:
            parts = [part for part in f"{folder}{link}".split("/") if part]
            while ".." in parts:
                place = parts.index("..")
                del parts[place - 1 : place + 1]
            assert "/".join(parts) in files
        assert sum(link.endswith("report.md") for link in links) == len(OTHERS)
        assert sum(link.endswith("report.html") for link in links) == len(OTHERS)
        assert f'<html lang="{folder.rstrip("/") or "en"}">' in page
    assert [name for name in files if name.endswith((".csv", ".json"))] == [
        name for name in golden_bundle() if name.endswith((".csv", ".json"))
    ]
    assert files["report.json"] == golden_bundle()["report.json"]


def test_a_page_in_one_language_refers_to_no_other() -> None:
    """And the first language need not be English."""
    files = bundle.make(*golden_case(), languages=("zh",))
    assert not any(name.startswith("zh/") for name in files)
    assert files["report.md"].decode().startswith('---\ntitle: "MariaDB Sysbench 性能对比测试报告')
    assert b"English" not in files["report.md"]
    assert b"<nav" not in files["report.html"]


def test_titles_are_in_the_form_of_the_published_pages() -> None:
    """For both benchmarks."""
    for name, tool in (("fleet", "Sysbench"), ("tpcc", "TPC-C")):
        heading = f"# TiDB {tool} 性能对比测试报告 - v5.2.0 对比 v5.1.1\n"
        assert heading in pages(name, "zh")["report.md"]


# ---------------------------------------------------------------- a language more


# Names that programs, hosts, variables and formats have in every language.
IDENTIFIERS = {
    *(
        "cache, tls",  # settings that differ
        "Sysbench",
        "sysbench",
        "haproxy",
        "mariadb",
        "tidb",
        "tikv",
        "pd",
        "localhost",
        "xfs",
        "ms",
    ),
    *("cache", "tls", "cache, tls", "on", "true", "false"),
    *("title", "summary", "details", "details open"),
}


class Accents(Transformer):
    """English with an accent on each letter: whatever a page has without one is in no file."""

    LETTERS = str.maketrans(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "áḃćďéḟǵȟíǰḱĺḿńóṕɋŕśťúṽẃẍýźÁḂĆĎÉḞǴȞÍĴḰĹḾŃÓṔɊŔŚŤÚṼẂẌÝŹ",
    )

    def visit_TextElement(self, node: ftl.TextElement) -> ftl.TextElement:  # noqa: N802
        return ftl.TextElement(node.value.translate(self.LETTERS))


@pytest.fixture
def accented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A third language, made by adding one file."""
    folder = tmp_path / "locale"
    folder.mkdir()
    made: list[ftl.EntryType] = []
    for path in sorted(LOCALE.glob("*.ftl")):
        text = path.read_text("utf-8")
        (folder / path.name).write_text(text, "utf-8")
        if path.name.startswith("en."):
            for entry in FluentParser(with_spans=False).parse(text).body:
                is_text = not isinstance(entry, ftl.Message) or entry.id.name not in (
                    "time-pattern",
                )
                made.append(Accents().visit(entry) if is_text else entry)
    (folder / "de.ftl").write_text(FluentSerializer().serialize(ftl.Resource(made)), "utf-8")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    language.codes.cache_clear()
    load.cache_clear()
    yield
    monkeypatch.undo()
    language.codes.cache_clear()
    load.cache_clear()


@pytest.mark.usefixtures("accented")
@pytest.mark.parametrize("name", ["golden", "fleet", "tpcc"])
def test_adding_a_language_is_one_file(name: str) -> None:
    """Every text of every page comes from it, and numbers are written as its readers do."""
    assert language.codes() == ("en", "de", *OTHERS)
    made = pages.__wrapped__(name, "de")
    gates = {gate.gate for gate in model.build(*CASES[name]()).quality.gates}
    for page in made.values():
        assert set(english_in(page, name, words=1)) <= IDENTIFIERS | gates
    for section in model.build(*CASES[name]()).sections:
        number = section.figures.cells[0].sides["baseline"].means[section.figures.metric]
        assert f"| {number:,.0f}".replace(",", ".") in made["report.md"]
