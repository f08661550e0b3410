"""AWS's list prices are read from the account's own API, and only what was asked for is taken."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
import yaml

from benchlab.cli import prices as commands
from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan import pricing
from benchlab.targets.ec2 import price_list
from benchlab.targets.ec2.calls import AwsError
from tests.builders import price_api
from tests.builders.installation import Here
from tests.builders.price_api import PriceApi

TODAY = date(2026, 11, 23)
WEST = "us-west-2"


def api() -> PriceApi:
    """With one instance type and what fleets need beside it."""
    return PriceApi([*price_api.fleet("m5.xlarge", "0.2010000000"), *price_api.STORAGE])


def test_an_instance_types_price_is_the_one_on_demand() -> None:
    """Linux on shared hosts without software: not one of the five others under its name."""
    found = price_list.ask(api().access(), "m5.xlarge", WEST, TODAY)
    assert (found.usd_per_hour, found.vcpu, found.as_of) == (Decimal("0.201"), 4, TODAY)
    assert "AmazonEC2" in found.source


def test_a_price_a_month_is_turned_into_one_an_hour() -> None:
    """By AWS's 730 hours, for gp3's storage and the first of S3's tiers; the source says both."""
    volume, kept = (price_list.ask(api().access(), kind, WEST, TODAY) for kind in ("gp3", "s3"))
    assert float(volume.usd_per_hour) == pytest.approx(0.08 / 730, rel=1e-3)
    assert float(kept.usd_per_hour) == pytest.approx(0.023 / 730, rel=3e-3)
    assert "$0.023 a GiB-month of 730 hours" in kept.source
    assert volume.vcpu is None


def test_the_nearest_of_the_three_endpoints_is_asked() -> None:
    """There is no other; each has the prices of all regions."""
    asked = api()
    for region in ("us-west-2", "eu-west-1", "ap-northeast-1", "sa-east-1"):
        with contextlib.suppress(TargetError):
            price_list.ask(asked.access(), "m5.xlarge", region, TODAY)
    assert asked.regions == ["us-east-1", "eu-central-1", "ap-south-1", "us-east-1"]


def test_what_has_no_single_price_is_refused() -> None:
    """A type that the region does not have, and one with two prices: none of them is guessed."""
    with pytest.raises(TargetError, match=r"m9\.huge in us-west-2: .* and has none; is the name"):
        price_list.ask(api().access(), "m9.huge", WEST, TODAY)
    two = [*api().products, price_api.instance("m5.xlarge", "0.3", marketoption="Other")]
    with pytest.raises(TargetError, match="has 2 of them"):
        price_list.ask(PriceApi(two).access(), "m5.xlarge", WEST, TODAY)


def test_a_product_without_its_parts_is_refused_in_words() -> None:
    """No vCPU, no terms as they are described: the price stays, and the type is named."""
    (bare,) = [price_api.instance("m5.xlarge", "0.2", vcpu="NA")]
    with pytest.raises(TargetError, match=r"m5\.xlarge in us-west-2: .* how many vCPU it has"):
        price_list.ask(PriceApi([bare]).access(), "m5.xlarge", WEST, TODAY)
    for term in bare["terms"]["OnDemand"].values():
        del term["priceDimensions"]
    with pytest.raises(TargetError, match=r"m5\.xlarge in us-west-2: .* and has none"):
        price_list.ask(PriceApi([bare]).access(), "m5.xlarge", WEST, TODAY)


def test_a_missing_permission_is_named_with_the_policy() -> None:
    """The policy of the documentation has it."""
    asked = api()
    asked.refuse = "AccessDeniedException"
    with pytest.raises(AwsError, match=r"get_products: AccessDenied.*docs/iam-policy\.json"):
        price_list.ask(asked.access(), "m5.xlarge", WEST, TODAY)


# ---------------------------------------------------------------- the commands


def use(monkeypatch: pytest.MonkeyPatch, asked: PriceApi) -> None:
    """Let the command line ask this service."""
    monkeypatch.setattr(Access, "for_a_person", asked.access)


def test_an_update_writes_todays_prices_and_says_what_changed(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the list and of every topology; what AWS does not have stays, and makes the command fail.

    A type that a topology rents and the list lacks is added.
    """
    path = here.home.prices
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if "c5.4xlarge" not in line) + "\n")
    before = pricing.load(path)
    kinds = {kind for kind, _ in before.prices} - {"gp3", "s3", "i3.large"} | {"c5.4xlarge"}
    products = [p for kind in kinds for p in price_api.fleet(kind, "0.1920000000")]
    use(monkeypatch, PriceApi([*products, *price_api.STORAGE]))
    done = here.run("prices", "update")
    assert done.returncode == 1
    assert "error: i3.large in us-west-2: AWS's price list should have one price" in done.stderr
    after = pricing.load(path)
    today = datetime.now(UTC).date()
    assert after.prices["i3.large", WEST] == before.prices["i3.large", WEST]
    assert {price.as_of for kind, price in after.prices.items() if kind != ("i3.large", WEST)} == {
        today
    }
    assert "added: us-west-2  c5.4xlarge" in done.stdout
    assert "changed: us-west-2  m5.large" in done.stdout
    assert "; before: 0.096, 2025-01-15" in done.stdout
    assert "  m5.xlarge" not in done.stdout, "it has not changed"


def test_an_update_asks_for_every_fleet_that_a_topology_allows(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each role the further types too, in each region, with volumes and S3 there."""
    path = here.home.configs / "topologies" / "ec2_published.yaml"
    written = yaml.safe_load(path.read_text())
    written["roles"]["tikv"]["or_types"] = ["c5d.4xlarge"]
    written["elsewhere"] = [{"region": "eu-west-1"}]
    path.write_text(yaml.safe_dump(written))
    use(monkeypatch, api())
    refused = here.refused("prices", "update")
    assert f"c5d.4xlarge in {WEST}: " in refused
    rented = {machines["instance_type"] for machines in written["roles"].values()}
    for kind in {*rented, "c5d.4xlarge", "gp3", "s3"}:
        assert f"{kind} in eu-west-1: " in refused


def test_an_update_that_aws_refuses_writes_nothing(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first refusal ends it: the others would be the same."""
    asked = api()
    asked.refuse = "UnrecognizedClientException"
    use(monkeypatch, asked)
    before = here.home.prices.read_bytes()
    assert "the credentials are not valid" in here.refused("prices", "update")
    assert len(asked.regions) == 1
    assert here.home.prices.read_bytes() == before


def test_the_list_says_how_old_it_is(here: Here) -> None:
    """With the command that asks for today's."""
    said = here.run("prices").stdout
    assert "us-west-2  m5.xlarge           0.192 dollars an hour, 2025-01-15" in said
    assert "`benchlab prices update` asks AWS for today's" in said.splitlines()[-1]
    known = pricing.load(here.home.prices)
    oldest = known.oldest()
    assert oldest is not None
    assert commands.age(known, oldest + timedelta(9)).startswith(
        f"{len(known.prices)} prices, the oldest of 2025-01-15 (9 days ago)"
    )


def test_prices_are_asked_for_again_once_they_are_old(here: Here) -> None:
    """Older than 90 days; others are left alone, and nobody is asked."""
    path = here.home.prices
    kinds = {kind for kind, _ in pricing.load(path).prices} - {"gp3", "s3"}
    fleet = [p for kind in kinds - {"i3.large"} for p in price_api.fleet(kind, "0.5")]
    asked = PriceApi([*fleet, *price_api.STORAGE])
    day = date(2025, 1, 15) + timedelta(90)
    assert price_list.refresh_if_old(asked.access(), here.home, day) == []
    assert asked.regions == []
    said, fault = price_list.refresh_if_old(asked.access(), here.home, day + timedelta(1))
    assert said == f"{path}: {len(pricing.load(path).prices) - 1} prices as of 2025-04-16"
    assert fault.startswith("i3.large in us-west-2: ")
    assert pricing.load(path).price("m5.xlarge", WEST).usd_per_hour == Decimal("0.5")


def test_without_credentials_old_prices_are_only_said_to_be_old(here: Here) -> None:
    """A plan goes on with them; a refusal by AWS is an error."""

    def none(service: str, region: str) -> object:
        raise AwsError("get_products", region, "", "no credentials", no_credentials=True)

    before = here.home.prices.read_bytes()
    (said,) = price_list.refresh_if_old(Access(aws=none), here.home, TODAY)
    assert "the oldest price is of 2025-01-15, and there are no AWS credentials" in said
    refusing = api()
    refusing.refuse = "UnrecognizedClientException"
    with pytest.raises(AwsError):
        price_list.refresh_if_old(refusing.access(), here.home, TODAY)
    assert here.home.prices.read_bytes() == before
