"""YAML that people write: read by libyaml, refused in the same words as by PyYAML alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchlab.errors import SpecError
from benchlab.plan.documents import YAML_FAULTS, from_yaml, parse_yaml


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
    with pytest.raises(SpecError, match="is there twice"):
        from_yaml(text, "twice.yaml")


def outcome(parse: Callable[[str], Any], text: str) -> tuple[str, Any]:
    """What was read, or the words with which it was refused."""
    try:
        return "read", parse(text)
    except YAML_FAULTS as error:
        return "refused", str(error)


@given(st.text(alphabet="ab01 :-?[]{},#'\"|>&*!%@\n\t.~=", max_size=30))
def test_it_is_what_pyyaml_reads(text: str) -> None:
    """The quick way and the slow one differ in time only, and refuse the same."""
    by_pyyaml, found = outcome(yaml.safe_load, text), outcome(parse_yaml, text)
    assert found == by_pyyaml or (found[0] == "refused" and "there twice" in found[1])
