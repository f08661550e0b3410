"""YAML that people write: read by libyaml as PyYAML alone would read it, or refused in words."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchlab import home
from benchlab.errors import SpecError
from benchlab.plan import report_type, topology
from benchlab.plan.documents import YAML_FAULTS, from_yaml


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000, "a: &a [*a, " * 20_000],
)
def test_a_file_that_is_nested_without_end_is_refused(text: str) -> None:
    """It neither ends the process nor fills the memory, and the file is named."""
    with pytest.raises(SpecError, match=r"^odd\.yaml: not YAML"):
        from_yaml(text, "odd.yaml")


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "x:\n  b: 1\n  b: [2, 3]\n"])
def test_a_key_that_is_there_twice_is_refused(text: str) -> None:
    """The second would win without a word."""
    with pytest.raises(SpecError, match="occurs twice"):
        from_yaml(text, "twice.yaml")


def outcome(parse: Callable[[str], Any], text: str) -> tuple[str, Any]:
    """What was read, or the words with which it was refused."""
    try:
        return "read", parse(text)
    except (*YAML_FAULTS, SpecError) as error:
        return "refused", str(error)


@pytest.mark.parametrize(
    "scalar",
    ["2024-13-45", "!!int x", "!!float x", "!!bool x", "2024-01-01T99:00:00", "0x" + "f" * 9000],
)
def test_a_value_that_does_not_fit_its_tag_is_refused_with_its_line(scalar: str) -> None:
    """Whatever PyYAML raises for it, and with what to do."""
    with pytest.raises(SpecError, match=r"(?s)^odd\.yaml: not YAML: .*in quotes.*line 2"):
        from_yaml(f"rounds: 2\nnote: {scalar}\n", "odd.yaml")


@given(st.text(alphabet="ab01 :-?[]{},#'\"|>&*!%@\n\t.~", max_size=30))
def test_it_is_what_pyyaml_reads(text: str) -> None:  # PyYAML alone takes the key "="
    """What is read is what PyYAML alone reads, and nothing else is refused than a key's second."""
    by_pyyaml = outcome(yaml.safe_load, text)
    found = outcome(lambda text: from_yaml(text, "a.yaml"), text)
    if found[0] == "refused":
        assert by_pyyaml[0] == "refused" or "there twice" in found[1]
    elif by_pyyaml[0] == "read":  # libyaml reads some texts that PyYAML refuses, such as ">#"
        assert found == by_pyyaml


# A report type in which every field that may be of several types is set.
MIXED = {
    "load_balancer": "haproxy",
    "schedule": {"runs": "on_release", "types": ["patch"]},
    "publish": [{"to": "s3", "bucket": "b"}],
    "client": {"options": {"range-size": 10}},
    "engines": {
        "tidb": {
            "baseline": {"version": "v6.1.0", "parameters": {"a": 1}},
            "components": {"tikv": {"a": 1}},
            "by_version": [{"since": "v6.1.0", "parameters": {"a": 1}}],
        }
    },
}
WRONG = [5, None, "x y", [1], [[1]], {"a": [1]}, [{"a": 1}], date(2024, 1, 1), float("nan")]
OF_A_PROGRAM = re.compile(
    r"constrained|function-|Input should|literal\[|datetime|None\w"
    r"|\.(?:int|str|float|bool|[A-Z]\w+)\b"
)


def places(document: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a document."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in pairs:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def refusals(document: Any, path: Path, read: Callable[[Path], object]) -> Iterator[str]:
    """What is said where one value of a document is of a wrong type."""
    for place in list(places(document)):
        for wrong in WRONG:
            changed = copy.deepcopy(document)
            node = changed
            for key in place[:-1]:
                node = node[key]
            node[place[-1]] = wrong
            path.write_text(yaml.safe_dump(changed))
            try:
                read(path)
            except SpecError as error:
                yield from str(error).splitlines()


def test_a_value_of_a_wrong_type_is_refused_in_words(tmp_path: Path) -> None:
    """No part of a program is named, and each place has one sentence, wherever it is."""
    said = list(refusals(MIXED, tmp_path / "a.yaml", report_type.load))
    for name in ("ec2_first", "tidb_cloud_published"):
        raw = yaml.safe_load((home.find().configs / "topologies" / f"{name}.yaml").read_text())
        said += refusals(raw, tmp_path / "topology.yaml", topology.load)
    assert len(said) > 100
    assert not list(filter(OF_A_PROGRAM.search, said))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("client", {"options": {"range-size": [1]}}, "client.options.range-size: must be text on"),
        ("publish", [{"to": "s3", "bucket": [1]}], "publish.0.bucket: must be text on one line, a"),
        ("schedule", [1], "schedule: must be a mapping of fields to values"),
    ],
)
def test_a_list_in_place_of_one_value_has_one_sentence(field: str, value: Any, said: str) -> None:
    """Not one for each type that the value could be of."""
    with pytest.raises(SpecError) as error:
        report_type.loads(yaml.safe_dump({field: value}), "a.yaml")
    (line,) = (
        line for line in str(error.value).splitlines() if line.startswith(f"a.yaml: {field}")
    )
    assert f"a.yaml: {said}" in line
