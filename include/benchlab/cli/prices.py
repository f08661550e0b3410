"""The commands on the list prices of rented hosts: prices, prices update."""

from __future__ import annotations

from datetime import UTC, date, datetime

import typer

from benchlab.errors import TargetError
from benchlab.home import find
from benchlab.hosts.access import Access
from benchlab.plan import pricing
from benchlab.plan.pricing import Price, PriceList
from benchlab.targets.ec2 import price_list

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
    """Ask AWS for today's prices; exit code 1 if it lacks some.

    Example: benchlab prices update
    """
    home = find()
    today = datetime.now(UTC).date()
    before, found, faults = price_list.refresh(Access.for_a_person(), home, today)
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


def _line(price: Price) -> str:
    hourly = f"{price.usd_per_hour:f}"
    return f"{price.region}  {price.instance_type:14} {hourly:>10} dollars an hour, {price.as_of}"
