"""The configuration gate: what nobody asked for is found, between two like servers nothing."""

from __future__ import annotations

import pytest

from benchlab import quantities, testing, variables
from benchlab.results import SideFacts
from benchlab.spec import Parameters, Side, SideSpec

SAME = ("v6.5.0", "v6.5.0")
OTHER = ("v6.1.0", "v6.5.0")


def undeclared(
    versions: tuple[str, str],
    baseline: dict[str, str],
    candidate: dict[str, str],
    *asked: Parameters,
) -> float | None:
    """The column, for sides of these versions with these variables.

    Args:
        asked: of both sides; or of the baseline, then of the candidate.
    """
    parameters = (*asked, *asked, {}, {})[:2]
    names: tuple[Side, Side] = ("baseline", "candidate")
    sides = {
        side: SideSpec(version=version, parameters=own)
        for side, version, own in zip(names, versions, parameters, strict=True)
    }
    facts: dict[Side, SideFacts] = {
        side: testing.side_facts(versions[n], variables=(baseline, candidate)[n])
        for n, side in enumerate(names)
    }
    return variables.columns(facts, sides)["undeclared_differences"]


def test_two_servers_of_one_version_may_differ_in_identity_only() -> None:
    """Ports, places and ids: a false alarm here would let no A/A campaign end."""
    here = {"port": "1", "datadir": "/a", "server_uid": "x", "max_connections": "100"}
    there = {"port": "2", "datadir": "/b", "server_uid": "y", "max_connections": "100"}
    assert undeclared(SAME, here, there) == 0
    assert undeclared(SAME, here, {**there, "max_connections": "101"}) == 1


def test_what_is_asked_to_differ_is_no_fault() -> None:
    """A campaign may compare two settings of one version; only other differences count."""
    asked: tuple[Parameters, Parameters] = ({"io-capacity": 100}, {"io-capacity": 200})
    here, there = {"io_capacity": "100", "x": "1"}, {"io_capacity": "200", "x": "1"}
    assert undeclared(SAME, here, there, *asked) == 0
    assert undeclared(SAME, here, {**there, "x": "2"}, *asked) == 1


def test_a_changed_default_between_two_versions_is_no_fault() -> None:
    """The report shows it. What was asked to be alike and is not counts there, too."""
    assert undeclared(OTHER, {"tls": "OFF"}, {"tls": "ON"}) == 0
    assert undeclared(OTHER, {"size": "1"}, {"size": "2"}, {"size": 1}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ON", "1"),
        ("off", "OFF"),
        ("true", "ON"),
        ("60s", "1m0s"),
        ("1GiB", "1024MB"),
        ("2", "2.0"),
    ],
)
def test_two_versions_may_write_one_value_in_two_ways(one: str, other: str) -> None:
    """What means the same is alike."""
    assert undeclared(OTHER, {"size": one}, {"size": other}, {"size": "asked"}) == 0


def test_without_both_sides_variables_nothing_is_known() -> None:
    """Sequential campaigns measure the first side before the second is there."""
    assert undeclared(SAME, {}, {"port": "1"}) is None
    sides: dict[Side, SideSpec] = {"baseline": SideSpec(version="v6.5.0")}
    facts: dict[Side, SideFacts] = {"baseline": testing.side_facts("v6.5.0")}
    assert variables.columns(facts, sides) == {"undeclared_differences": None}
    assert variables.columns({}, {}) == {"undeclared_differences": None}


def test_a_duration_is_no_size() -> None:
    """A minute is not a megabyte."""
    assert not quantities.same("1m", "1M")
    assert quantities.same("90s", "1m30s")
    assert not quantities.same("text", "text")
