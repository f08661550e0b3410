"""What rented hosts cost: the dated list prices of ``configs/prices.csv``.

One line per price: ``instance_type,region,vcpu,usd_per_hour,as_of,source``. ``instance_type`` is an
EC2 instance type (on demand, Linux, shared tenancy), ``gp3`` for one GiB of a root volume, or
``s3`` for one GiB kept in S3's standard class; the last two have no vCPUs. Amounts stay decimal
numbers until they are rounded up to whole cents. ``benchlab prices update`` writes the file.

All hosts of a fleet are in one zone, so that there is no price of traffic between zones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path

from benchlab.errors import SpecError
from benchlab.plan.documents import Row, csv_rows, read_csv, write_text
from benchlab.plan.topology import Ec2Topology

COLUMNS = ("instance_type", "region", "vcpu", "usd_per_hour", "as_of", "source")
ROOT_VOLUME, S3 = "gp3", "s3"
CENT = Decimal("0.01")
# AWS converts between prices a month and an hour by this number.
HOURS_A_MONTH = 730
# Older prices are reported as old, and asked for again by the maintenance.
OLD = timedelta(days=90)


@dataclass(frozen=True)
class Price:
    """One list price.

    Attributes:
        vcpu: of the instance type; None for storage.
        usd_per_hour: for one host, or for one GiB of storage.
        as_of: a day on which this was the price.
        source: where it is published.
    """

    instance_type: str
    region: str
    vcpu: int | None
    usd_per_hour: Decimal
    as_of: date
    source: str


@dataclass(frozen=True)
class Rent:
    """What a fleet costs.

    Attributes:
        usd_per_hour: of all hosts with their root volumes.
        serving_usd_per_hour: of all hosts but the client's, without root volumes.
        vcpus: of all hosts, which the account's quota must allow.
        as_of: day of the oldest price in it.
        arithmetic: the terms of the sum, such as ``3 x m5.xlarge at $0.192``.
    """

    usd_per_hour: Decimal
    serving_usd_per_hour: Decimal
    vcpus: int
    as_of: date
    arithmetic: tuple[str, ...]

    def dollars(self, minutes: float) -> float:
        """The rent for a number of minutes, billed by the second, rounded up to whole cents."""
        seconds = (Decimal(str(minutes)) * 60).to_integral_value(ROUND_CEILING)
        return float((self.usd_per_hour * seconds / 3600).quantize(CENT, ROUND_CEILING))

    def with_hosts(self, others: Rent) -> Rent:
        """The rent of both together."""
        return Rent(
            usd_per_hour=self.usd_per_hour + others.usd_per_hour,
            serving_usd_per_hour=self.serving_usd_per_hour + others.serving_usd_per_hour,
            vcpus=self.vcpus + others.vcpus,
            as_of=min(self.as_of, others.as_of),
            arithmetic=(*self.arithmetic, *others.arithmetic),
        )


@dataclass(frozen=True)
class PriceList:
    """Prices by instance type and region, and the file that they come from."""

    path: Path
    prices: Mapping[tuple[str, str], Price]

    def price(self, instance_type: str, region: str) -> Price:
        """The price of one instance type in one region.

        Raises:
            SpecError: it is not in the list; says what to add.
        """
        try:
            return self.prices[instance_type, region]
        except KeyError:
            raise SpecError(
                f"{self.path}: has no price for {instance_type} in {region}; `benchlab prices "
                "update` asks AWS for it, or add a line "
                f"`{instance_type},{region},<vcpu>,<dollars an hour>,<yyyy-mm-dd>,<source>` with "
                "the list price"
            ) from None

    def s3_dollars_a_month(self, gib: float, region: str) -> float | None:
        """The cost of keeping this much in S3, rounded up to whole cents; None without a price."""
        price = self.prices.get((S3, region))
        if price is None:
            return None
        month = price.usd_per_hour * HOURS_A_MONTH * Decimal(str(gib))
        return float(month.quantize(CENT, ROUND_CEILING))

    def oldest(self) -> date | None:
        """The day of the oldest price; None without any."""
        return min((price.as_of for price in self.prices.values()), default=None)

    def updated(self, prices: Iterable[Price]) -> PriceList:
        """The list with these prices added, or replacing those of the same type and region."""
        new = {(price.instance_type, price.region): price for price in prices}
        return replace(self, prices={**self.prices, **new})

    def write(self) -> None:
        """Write the file, as :func:`load` reads it, as a whole or not at all.

        Raises:
            SpecError: it cannot be written; names the file.
        """
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        for price in self.prices.values():
            vcpu, usd = price.vcpu or "", f"{price.usd_per_hour:f}"
            rows.writerow((price.instance_type, price.region, vcpu, usd, price.as_of, price.source))
        write_text(self.path, text.getvalue())

    def vcpu(self, instance_type: str, region: str) -> int:
        """How many vCPUs an instance type has. Raises as :meth:`price`."""
        found = self.price(instance_type, region).vcpu
        if found is None:
            raise SpecError(
                f"{self.path}: {instance_type}: vcpu: empty; it is not an instance type"
            )
        return found

    def rent(self, topology: Ec2Topology) -> Rent:
        """What a fleet costs, in its preferred region and with its preferred types, on demand.

        Raises:
            SpecError: a price is missing.
        """
        volume = self.price(ROOT_VOLUME, topology.region)
        hourly, serving, vcpus, gib = Decimal(0), Decimal(0), 0, 0
        used, arithmetic = [volume], []
        for role, machines in topology.roles.items():
            price = self.price(machines.instance_type, topology.region)
            hourly += machines.count * price.usd_per_hour
            serving += machines.count * price.usd_per_hour * (role != "client")
            vcpus += machines.count * self.vcpu(machines.instance_type, topology.region)
            gib += machines.count * machines.root_gib
            used.append(price)
            arithmetic.append(
                f"{machines.count} x {machines.instance_type} at ${price.usd_per_hour}"
            )
        arithmetic.append(f"{gib} GiB of root volumes at ${volume.usd_per_hour}")
        return Rent(
            usd_per_hour=hourly + gib * volume.usd_per_hour,
            serving_usd_per_hour=serving,
            vcpus=vcpus,
            as_of=min(price.as_of for price in used),
            arithmetic=tuple(arithmetic),
        )

    def dearest(self, topology: Ec2Topology) -> Rent:
        """What the dearest fleet allowed by a topology costs. Raises as :meth:`rent`."""

        def fleet(place: Ec2Topology) -> Ec2Topology:
            def price(kind: str) -> Decimal:
                return self.price(kind, place.region).usd_per_hour

            roles = place.roles.items()
            return place.with_types({role: max(one.types, key=price) for role, one in roles})

        rents = (self.rent(fleet(place)) for place in topology.places())
        return max(rents, key=lambda rent: rent.usd_per_hour)


def load(path: Path) -> PriceList:
    """Read a price list: ``load(path).price("m5.xlarge", "us-west-2").usd_per_hour``.

    Raises:
        SpecError: it cannot be read, or a line is wrong; names file, line and column.
    """
    columns, rows = csv_rows(path, read_csv(path))
    if columns != COLUMNS:
        raise SpecError(f"{path}: line 1: the columns must be {','.join(COLUMNS)}")
    prices: dict[tuple[str, str], Price] = {}
    for line, row in rows:
        price = _price(row, f"{path}: line {line}")
        key = (price.instance_type, price.region)
        if key in prices:
            raise SpecError(
                f"{path}: line {line}: {price.instance_type} in {price.region} has a price already"
            )
        prices[key] = price
    return PriceList(path, prices)


def _price(cells: Row, where: str) -> Price:
    if empty := next((name for name in COLUMNS if name != "vcpu" and not cells[name]), None):
        raise SpecError(f"{where}: {empty}: empty")
    vcpu = cells["vcpu"]
    if vcpu and (not vcpu.isdecimal() or len(vcpu) > 6 or int(vcpu) < 1):
        raise SpecError(f"{where}: vcpu: {vcpu!r} is not a whole number of at least 1")
    try:
        as_of = date.fromisoformat(cells["as_of"])
    except ValueError:
        raise SpecError(
            f"{where}: as_of: {cells['as_of']!r} is not a date such as 2025-01-31"
        ) from None
    return Price(
        instance_type=cells["instance_type"],
        region=cells["region"],
        vcpu=int(vcpu) if vcpu else None,
        usd_per_hour=_amount(cells["usd_per_hour"], where),
        as_of=as_of,
        source=cells["source"],
    )


def _amount(text: str, where: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or amount <= 0:
        raise SpecError(f"{where}: usd_per_hour: {text!r} is not an amount above 0")
    return amount
