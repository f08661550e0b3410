"""Versions are read as they are written."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import versions
from benchlab.errors import SpecError


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("v6.5.0", (6, 5, 0)),
        ("v10.0.12", (10, 0, 12)),
        ("10.11.5", (10, 11, 5)),
        ("v2.1.0-rc.2", (2, 1, 0)),
    ],
)
def test_a_version_is_read_as_numbers(text: str, numbers: tuple[int, int, int]) -> None:
    """10 is more than 9, with or without a leading v; a pre-release has its release's numbers."""
    assert versions.parse(text).numbers == numbers


@pytest.mark.parametrize(
    "text",
    [
        *("", "v", "6", "6.5", "v6.5", "6.5.0.1", "v6.5.0-", " 6.5.0", "6.5.0\n", "V6.5.0"),
        *("6.5.x", "-1.0.0", "6.5.0-rc/2", "6.5.0-rc 2", "../6.5.0", "99999.0.0", "١.٢.٣"),
    ],
)
def test_what_is_no_version_is_refused_with_an_example(text: str) -> None:
    """The message quotes what was found and shows how a version is written."""
    with pytest.raises(SpecError) as caught:
        versions.parse(text)
    assert repr(text) in str(caught.value)
    assert "v6.5.0" in str(caught.value)


@given(st.text())
def test_any_text_is_a_version_or_refused(text: str) -> None:
    """A version keeps the text that it was written in."""
    with contextlib.suppress(SpecError):
        assert versions.parse(text).text == text
