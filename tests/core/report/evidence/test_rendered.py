"""The pages, tables and pictures of a bundle against those rendered again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from benchlab.report.evidence import Verification
from tests.builders.evidence import as_json, by_another, files_of, forged, named


def test_changed_pages_are_found_by_rendering_them_again(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Letter by letter if the same Benchlab wrote them, including charts."""
    files = files_of(good)
    changes = {
        f"report/{name}": files[f"report/{name}"].replace(old, new, 1)
        for name, old, new in (
            ("report.md", b"improvement", b"improvemend"),
            ("report.html", b"improvement", b"improvemend"),
            ("trials.csv", b"r1-", b"r9-"),
            ("comparison.csv", b"improvement", b"equivalent"),
            ("charts/overview.svg", b"<path", b"<!-- --><path"),
        )
    }
    assert all(content != files[name] for name, content in changes.items())
    assert named(verified(forged(good, changes))) == set(changes)


def test_a_changed_figure_of_a_report_is_named_with_its_place(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """In report.json by key, in Markdown by line."""
    document = json.loads(files_of(good)["report/report.json"])
    document["workloads"][0]["estimate_pct"] *= 1.0001
    text = files_of(good)["report/report.md"].decode()
    figure = re.search(r"\+(\d+\.\d\d)%", text)
    assert figure
    changes = {
        "report/report.json": as_json(document),
        "report/report.md": text.replace(figure[1], "99.99", 1).encode(),
    }
    differences = {each.file: each for each in verified(forged(good, changes)).differences}
    assert differences["report/report.json"].where == "workloads[oltp_read_write].estimate_pct"
    assert differences["report/report.md"].where.startswith("line ")
    assert "99.99" in differences["report/report.md"].found
    assert figure[1] in str(differences["report/report.md"].recomputed)


def raised(value: Any) -> tuple[Any, int]:
    """A document with each number another one, and how many numbers it has."""
    if isinstance(value, dict):
        parts = {key: raised(part) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(n for _, n in parts.values())
    if isinstance(value, list):
        items = [raised(part) for part in value]
        return [part for part, _ in items], sum(n for _, n in items)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (2 * value + 1, 1) if number else (value, 0)


@pytest.mark.parametrize("make", [forged, by_another])
def test_every_figure_of_the_report_is_compared(
    good: bytes, make: Callable[..., bytes], verified: Callable[..., Verification]
) -> None:
    """Each number of report.json and of the tables, whoever says to have written them."""
    files = files_of(good)
    document, numbers = raised(json.loads(files["report/report.json"]))
    found = verified(make(good, {"report/report.json": as_json(document)}))
    assert named(found) == {"report/report.json"}
    assert len(found.differences) == numbers > 50
    for name in ("report/comparison.csv", "report/trials.csv"):
        table, cells = re.subn(r"(?m)(?<=,)(\d+)(?=[.,\n])", r"1\1", files[name].decode())
        found = verified(make(good, {name: table.encode()}))
        assert (named(found), len(found.differences)) == ({name}, cells)


def test_a_last_digit_that_another_processor_rounds_otherwise_is_no_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Figures at full precision agree to a relative 1e-9; more is a difference."""
    document = json.loads(files_of(good)["report/report.json"])
    document["workloads"][0]["estimate_pct"] *= 1 + 1e-13
    assert verified(forged(good, {"report/report.json": as_json(document)})).outcome == "holds"


def test_pages_of_another_benchlab_are_not_verified_and_the_figures_are(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Nothing differs, and it does not hold: pages that cannot be compared may be anybody's."""
    text = files_of(good)["report/report.md"].replace(b"##", b"###")
    made_with = {"source_sha256": "0" * 64, "benchlab": "0.0.9"}
    found = verified(by_another(good, {"report/report.md": text}, **made_with))
    assert (found.outcome, found.made_with) == ("not verified", "0.0.9")
    assert found.differences == []
    (why,) = found.unverified
    assert why.startswith("report/report.md: line ")
    assert "another Benchlab (0.0.9) wrote it" in why
    assert found.to_json()["outcome"] == "not verified"


def test_what_another_benchlab_made_holds_where_it_is_the_same(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A release that renders as the one before it; columns may be in another order."""
    assert verified(by_another(good, {})).outcome == "holds"
    text = files_of(good)["report/comparison.csv"].decode()
    rows = [line.split(",") for line in text.splitlines()]
    turned = "".join(",".join(row[::-1]) + "\n" for row in rows).encode()
    assert verified(by_another(good, {"report/comparison.csv": turned})).outcome == "holds"


def test_what_only_one_benchlab_writes_is_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Keys, columns and files, more of them or fewer; the same Benchlab has to have written all."""
    files = files_of(good)
    document = json.loads(files["report/report.json"])
    lines = files["report/comparison.csv"].decode().splitlines()
    more = "".join(f"{line},{'new' if n == 0 else 1}\n" for n, line in enumerate(lines)).encode()
    for name, content in (
        ("report.json", as_json({**document, "new_key": 1})),
        ("report.json", as_json({k: v for k, v in document.items() if k != "seed"})),
        ("comparison.csv", more),
        ("summary.html", b"All is well."),
        ("report.md", None),
    ):
        changes = {f"report/{name}": content}
        found = verified(by_another(good, changes))
        assert (found.outcome, found.differences) == ("not verified", [])
        assert all(why.startswith(f"report/{name}: ") for why in found.unverified)
        assert named(verified(forged(good, changes))) == set(changes)


@pytest.mark.parametrize("make", [forged, by_another])
def test_a_key_or_column_that_is_there_twice_is_a_difference(
    good: bytes, make: Callable[..., bytes], verified: Callable[..., Verification]
) -> None:
    """A reader may take the first of its values, and Python takes the last."""
    text = files_of(good)["report/report.json"]
    twice = text.replace(b'"verdict":', b'"verdict": "regression", "verdict":', 1)
    assert twice != text
    table = files_of(good)["report/comparison.csv"].replace(b"workload,", b"workload,workload,", 1)
    for name, content in (("report/report.json", twice), ("report/comparison.csv", table)):
        (difference,) = verified(make(good, {name: content})).differences
        assert (difference.file, "twice" in difference.found) == (name, True)


def test_a_table_that_is_no_csv_is_named(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A quote without its end, in a table of the report and in host samples."""
    hosts = next(name for name in files_of(good) if name.endswith(".hosts.csv"))
    for name in ("report/comparison.csv", hosts):
        content = files_of(good)[name] + b'"x"y\n'
        assert name in named(verified(forged(good, {name: content})))
