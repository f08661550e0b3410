"""YAML that people write: read by libyaml as PyYAML alone would read it, or refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchlab.errors import SpecError
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
