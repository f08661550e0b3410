"""The pages, tables and pictures of a bundle against those rendered again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from benchlab.report.evidence import Verification
from tests.builders.evidence import as_json, by_another, files_of, forged, named


def test_changed_pages_are_found_by_rendering_them_again(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Byte by byte if the same Benchlab wrote them, including charts."""
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


def test_a_last_digit_that_another_processor_rounds_otherwise_is_no_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Figures at full precision agree to a relative 1e-9; more is a difference."""
    document = json.loads(files_of(good)["report/report.json"])
    document["workloads"][0]["estimate_pct"] *= 1 + 1e-13
    assert verified(forged(good, {"report/report.json": as_json(document)})).holds


def test_pages_of_another_benchlab_are_not_verified_and_the_figures_are(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Nothing differs, and it does not hold: pages that cannot be compared may be anybody's."""
    text = files_of(good)["report/report.md"].replace(b"##", b"###")
    made_with = {"source_sha256": "0" * 64, "benchlab": "0.0.9"}
    found = verified(by_another(good, {"report/report.md": text}, **made_with))
    assert (found.outcome, found.holds, found.made_with) == ("not verified", False, "0.0.9")
    assert found.differences == ()
    assert found.lines()[-1] == (
        "the bundle is not verified as a whole: nothing differs, but not compared: "
        "pages of another Benchlab (1)"
    )
    assert found.to_json()["outcome"] == "not verified"


def test_what_another_benchlab_made_holds_where_it_is_the_same_byte_for_byte(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A release that renders as the one before it."""
    assert verified(by_another(good, {})).outcome == "holds"


def test_tables_of_another_benchlab_are_compared_cell_by_cell(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """By the names of the columns, in whatever order; made-up tables and figures differ."""
    files = files_of(good)
    rows = [line.split(",") for line in files["report/comparison.csv"].decode().splitlines()]
    turned = "".join(",".join(row[::-1]) + "\n" for row in rows).encode()
    assert verified(by_another(good, {"report/comparison.csv": turned})).outcome == "holds"
    document = json.loads(files["report/report.json"])
    document["workloads"][0]["verdict"] = "regression"
    changes = {
        "report/report.md": b"All is well.",
        "report/comparison.csv": b"all,is,well\n",
        "report/trials.csv": files["report/trials.csv"].replace(b",true,", b",false,", 1),
        "report/report.json": as_json(document),
    }
    assert named(verified(by_another(good, changes))) == set(changes) - {"report/report.md"}
    assert named(verified(by_another(good, {"report/report.json": b"{}"}))) == {
        "report/report.json"
    }


def test_keys_and_columns_that_only_one_benchlab_writes_are_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """More of them, or fewer than this one has; those that every one writes have to be there."""
    files = files_of(good)
    document = json.loads(files["report/report.json"])
    lines = files["report/comparison.csv"].decode().splitlines()
    for key, changed in (
        ("new_key", {**document, "new_key": 1}),
        ("seed", {key: value for key, value in document.items() if key != "seed"}),
    ):
        found = verified(by_another(good, {"report/report.json": as_json(changed)}))
        assert found.outcome == "not verified"
        assert [each for each in found.unverified if f"report.json: {key}: " in each.why]
        assert verified(forged(good, {"report/report.json": as_json(changed)})).differences
    more = "".join(f"{line},{'new' if n == 0 else 1}\n" for n, line in enumerate(lines)).encode()
    assert verified(by_another(good, {"report/comparison.csv": more})).outcome == "not verified"
    del document["workloads"][0]["cells"]
    found = verified(by_another(good, {"report/report.json": as_json(document)}))
    assert [each.where for each in found.differences] == ["workloads[oltp_read_write].cells"]


def test_a_report_of_another_benchlab_has_to_be_there(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Each of the files that every Benchlab writes; one more is not verified."""
    gone = dict.fromkeys(name for name in files_of(good) if name.startswith("report/"))
    wanted = {"report.json", "report.md", "report.html", "trials.csv", "comparison.csv"}
    assert named(verified(by_another(good, gone))) == {f"report/{name}" for name in wanted}
    more = verified(by_another(good, {"report/summary.html": b"All is well."}))
    assert (more.outcome, more.differences) == ("not verified", ())


def test_a_key_that_is_there_twice_is_a_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A reader may take the first of its values, and Python takes the last."""
    text = files_of(good)["report/report.json"]
    twice = text.replace(b'"verdict":', b'"verdict": "regression", "verdict":', 1)
    assert twice != text
    for content in (forged(good, {"report/report.json": twice}),
                    by_another(good, {"report/report.json": twice})):  # fmt: skip
        (difference,) = verified(content).differences
        assert (difference.file, "twice" in difference.found) == ("report/report.json", True)


def test_a_table_that_is_no_csv_is_named(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A quote without its end, in a table of the report and in host samples."""
    hosts = next(name for name in files_of(good) if name.endswith(".hosts.csv"))
    for name in ("report/comparison.csv", hosts):
        content = files_of(good)[name] + b'"x"y\n'
        assert named(verified(forged(good, {name: content}))) == {name}
