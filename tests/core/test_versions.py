"""Versions are read as they are written and ordered as they were released."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import versions
from benchlab.errors import SpecError

# In the order of their releases.
RELEASED = [
    *("v2.1.0-rc.1", "v2.1.0-rc.2", "v2.1.0-rc.10", "v2.1.0", "v2.1.2", "v2.1.10", "v3.0.0-beta"),
    *("v3.0.0-beta.1", "v3.0.0-rc.1", "v3.0.0", "v6.1.0", "v6.5.0", "v6.5.10", "v8.5.0", "v10.0.0"),
]


def test_versions_are_ordered_by_number_and_not_as_text() -> None:
    """10 comes after 9, and a pre-release before its release."""
    assert [str(v) for v in sorted(map(versions.parse, reversed(RELEASED)))] == RELEASED


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


pre_releases = st.none() | st.from_regex(r"[0-9A-Za-z.-]{1,8}", fullmatch=True)
numbers = st.tuples(*[st.integers(0, 9999)] * 3)
any_version = st.builds(
    lambda v, n, p: v + ".".join(map(str, n)) + (f"-{p}" if p is not None else ""),
    st.sampled_from(["", "v"]),
    numbers,
    pre_releases,
).map(versions.parse)


@given(any_version, any_version, any_version)
def test_the_order_is_total(a: versions.Version, b: versions.Version, c: versions.Version) -> None:
    """Sorting versions means something: of two, one is earlier or they are the same release."""
    assert (a < b) + (b < a) <= 1
    if a <= b and b <= c:
        assert a <= c
    assert (a <= b) == (not b < a)


@given(st.text())
def test_any_text_is_a_version_or_refused(text: str) -> None:
    """A version keeps the text that it was written in."""
    with contextlib.suppress(SpecError):
        assert str(versions.parse(text)) == text
