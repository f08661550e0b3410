"""Dollars come from a dated list, add up exactly, and are never guessed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan import pricing, topology
from benchlab.plan.topology import Ec2Topology

HEADER = "instance_type,region,vcpu,usd_per_hour,as_of,source\n"
CONFIGS = find().configs


def price_list(tmp_path: Path, *lines: str, header: str = HEADER) -> pricing.PriceList:
    """A price list of these lines."""
    path = tmp_path / "prices.csv"
    path.write_text(header + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return pricing.load(path)


def published() -> Ec2Topology:
    """The fleet of the published reports."""
    found = topology.load(CONFIGS / "topologies" / "ec2_published.yaml")
    assert isinstance(found, Ec2Topology)
    return found


def test_every_price_of_the_list_has_a_day_and_a_source() -> None:
    """A reader of a cost can look up its source and age."""
    prices = pricing.load(CONFIGS / "prices.csv").prices
    assert prices
    for price in prices.values():
        assert date(2020, 1, 1) < price.as_of
        assert price.source.startswith("https://")
        assert (price.vcpu is None) == (price.instance_type in (pricing.ROOT_VOLUME, pricing.S3))


def test_the_published_fleet_costs_what_its_hosts_cost() -> None:
    """3 x 0.192 + 3 x 1.248 + 3 x 0.68 + 1.53 dollars an hour, and the root volumes."""
    rent = pricing.load(CONFIGS / "prices.csv").rent(published())
    assert float(rent.usd_per_hour) == pytest.approx(7.89 + 500 * 0.08 / 730, abs=0.001)
    assert rent.vcpus == 144
    assert len(rent.arithmetic) == 5


def test_an_hour_costs_its_price_to_the_cent(tmp_path: Path) -> None:
    """No error of binary fractions: 0.1 + 0.2 an hour is 30 cents, not 31."""
    prices = price_list(
        tmp_path,
        "a.large,us-west-2,4,0.1,2025-01-15,x",
        "b.large,us-west-2,4,0.2,2025-01-15,x",
        "gp3,us-west-2,,0.000000001,2025-01-14,x",
    )
    cheap, dear = ({"instance_type": f"{x}.large", "count": 1, "root_gib": 8} for x in "ab")
    roles = {"pd": cheap, "tikv": cheap, "tidb": cheap, "client": dear}
    fleet = Ec2Topology.model_validate({**published().model_dump(), "roles": roles})
    rent = prices.rent(fleet)
    assert (rent.dollars(60), rent.as_of) == (0.51, date(2025, 1, 14))  # volumes: a part of a cent
    assert rent.dollars(0) == 0


@given(st.floats(0, 100_000), st.floats(0, 100_000))
def test_more_time_is_never_cheaper(first: float, second: float) -> None:
    """Rounded up to whole cents, and by whole seconds, as EC2 bills."""
    rent = pricing.load(CONFIGS / "prices.csv").rent(published())
    short, long = sorted((first, second))
    assert rent.dollars(short) <= rent.dollars(long)
    assert rent.dollars(long) >= float(rent.usd_per_hour) * long / 60 - 1e-9
    assert round(rent.dollars(long), 2) == rent.dollars(long)


def test_the_dearest_fleet_has_the_dearest_type_of_each_role_in_the_dearest_region(
    tmp_path: Path,
) -> None:
    """Whatever is rented in the end costs no more than that; a missing price is named."""
    lines = [
        f"{kind},{region},4,{dollars * factor},2025-01-{day},x"
        for region, factor, day in (("us-west-2", 1, 15), ("eu-central-1", 2, 14))
        for kind, dollars in (("a.large", 0.1), ("b.large", 0.2), ("c.large", 0.4))
    ]
    volumes = [f"gp3,{region},,0.00001,2025-01-15,x" for region in ("us-west-2", "eu-central-1")]
    cheap = {"instance_type": "a.large", "count": 1, "root_gib": 8}
    roles = {
        "pd": cheap,
        "tikv": {**cheap, "or_types": ["c.large", "b.large"]},
        "tidb": {**cheap, "or_types": ["b.large"]},
        "client": cheap,
    }
    raw = published().model_dump() | {"roles": roles, "elsewhere": [{"region": "eu-central-1"}]}
    fleet = Ec2Topology.model_validate(raw)
    prices = price_list(tmp_path, *lines, *volumes)
    dearest = prices.dearest(fleet)
    assert float(dearest.usd_per_hour) == pytest.approx(2 * (0.1 + 0.4 + 0.2 + 0.1), abs=0.001)
    assert dearest.as_of == date(2025, 1, 14)
    every = [prices.rent(choice).usd_per_hour for choice in fleet.choices()]
    assert len(every) == 2 * 3 * 2
    assert max(every) == dearest.usd_per_hour
    assert every[0] == prices.rent(fleet).usd_per_hour
    without = price_list(tmp_path, *lines[:-1], *volumes)
    with pytest.raises(SpecError, match=r"no price for c\.large in eu-central-1"):
        without.dearest(fleet)


def test_a_missing_price_says_what_to_add(tmp_path: Path) -> None:
    """File, instance type, region, and the line to be written."""
    prices = price_list(tmp_path, "gp3,us-west-2,,0.00011,2025-01-15,x")
    with pytest.raises(SpecError) as refused:
        prices.rent(published())
    for part in (str(prices.path), "m5.xlarge", "us-west-2", "m5.xlarge,us-west-2,<vcpu>"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("m5.large,us-west-2,2,free,2025-01-15,x", "usd_per_hour: 'free'"),
        ("m5.large,us-west-2,2,0,2025-01-15,x", "usd_per_hour: '0'"),
        ("m5.large,us-west-2,2,-1,2025-01-15,x", "usd_per_hour: '-1'"),
        ("m5.large,us-west-2,2,nan,2025-01-15,x", "usd_per_hour: 'nan'"),
        ("m5.large,us-west-2,2,,2025-01-15,x", "usd_per_hour: empty"),
        ("m5.large,us-west-2,two,0.1,2025-01-15,x", "vcpu: 'two'"),
        ("m5.large,us-west-2,0,0.1,2025-01-15,x", "vcpu: '0'"),
        ("m5.large,us-west-2," + "1" * 5000 + ",0.1,2025-01-15,x", "vcpu: '1111"),
        ("m5.large,us-west-2,2,0.1,last week,x", "as_of: 'last week'"),
        ("m5.large,us-west-2,2,0.1,2025-01-15", "source: empty"),
        ("m5.large,us-west-2,2,0.1,2025-01-15,x,y", "more than 6 columns"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, named: str) -> None:
    """File, line, column and what was found there."""
    with pytest.raises(SpecError, match="line 3") as refused:
        price_list(tmp_path, "m5.xlarge,us-west-2,4,0.192,2025-01-15,x", line)
    assert named in str(refused.value)
    assert "prices.csv" in str(refused.value)


def test_two_prices_of_one_thing_are_refused(tmp_path: Path) -> None:
    """Neither wins silently."""
    line = "m5.xlarge,us-west-2,4,0.192,2025-01-15,x"
    with pytest.raises(SpecError, match="has a price already"):
        price_list(tmp_path, line, line)


def test_a_list_of_other_columns_is_refused(tmp_path: Path) -> None:
    """A list with a column more or less is refused, and so is a missing file."""
    with pytest.raises(SpecError, match="the columns must be"):
        price_list(tmp_path, header="instance_type,price\n")
    with pytest.raises(SpecError, match="cannot be read"):
        pricing.load(tmp_path / "none.csv")
