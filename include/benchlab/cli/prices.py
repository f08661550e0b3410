"""The commands on the list prices of rented hosts: prices, prices update."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime

import typer

from benchlab.errors import TargetError
from benchlab.home import Home, find
from benchlab.hosts.access import Access
from benchlab.plan import pricing
from benchlab.plan import topology as topologies
from benchlab.plan.pricing import ROOT_VOLUME, S3, Price, PriceList
from benchlab.targets.ec2 import price_list
from benchlab.targets.ec2.calls import AwsError

app = typer.Typer()
_prices = typer.Typer(invoke_without_command=True)
app.add_typer(_prices, name="prices")


@_prices.callback()
def list_prices(context: typer.Context) -> None:
    """List the prices that plans use, and how old they are.

    Example: benchlab prices
    """
    if context.invoked_subcommand is not None:
        return
    known = pricing.load(find().prices)
    for price in known.prices.values():
        print(_line(price))
    print(age(known, datetime.now(UTC).date()))


@_prices.command()
def update() -> None:
    """Ask AWS for the prices of the list and of all topologies; exit code 1 if it lacks some.

    Example: benchlab prices update
    """
    home = find()
    before, today = pricing.load(home.prices), datetime.now(UTC).date()
    access, found, faults = Access.for_a_person(), list[Price](), list[str]()
    for kind, region in _wanted(home, before):
        try:
            found.append(price_list.ask(access, kind, region, today))
        except AwsError:
            raise  # AWS would refuse the other prices as well
        except TargetError as error:
            faults.append(str(error))
    before.updated(found).write()
    for price in found:
        was = before.prices.get((price.instance_type, price.region))
        if was is None:
            print(f"added: {_line(price)}")
        elif was.usd_per_hour != price.usd_per_hour:
            print(f"changed: {_line(price)}; before: {was.usd_per_hour:f}, {was.as_of}")
    print(f"{len(found)} prices as of {today}, in {home.prices}")
    if faults:
        raise TargetError("\n".join(faults))


def age(known: PriceList, today: date) -> str:
    """The age of the prices: ``15 prices, the oldest of 2025-01-15 (9 days ago); ...``."""
    if (oldest := known.oldest()) is None:
        return "no prices"
    count = len(known.prices)
    return (
        f"{count} price{'s' * (count != 1)}, the oldest of {oldest} ({(today - oldest).days} days "
        "ago); `benchlab prices update` asks AWS for today's"
    )


def _wanted(home: Home, known: PriceList) -> list[tuple[str, str]]:
    """The types and regions in the price list, and those that topologies may rent, each once."""
    wanted = dict.fromkeys(known.prices)
    for topology in topologies.valid(home.configs / "topologies").values():
        if (rented := topologies.on_ec2(topology)) is not None:
            kinds = sorted({kind for one in rented.roles.values() for kind in one.types})
            wanted |= dict.fromkeys(itertools.product((*kinds, ROOT_VOLUME, S3), rented.regions))
    return list(wanted)


def _line(price: Price) -> str:
    hourly = f"{price.usd_per_hour:f}"
    return f"{price.region}  {price.instance_type:14} {hourly:>10} dollars an hour, {price.as_of}"
