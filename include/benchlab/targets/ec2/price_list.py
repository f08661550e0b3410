"""Asks AWS for its list prices, with the account's own credentials.

The Price List Query API answers ``GetProducts`` with one JSON document for each product that fits
all filters (format ``aws_v1``: *Using the AWS Price List Query API* in the AWS Billing User Guide,
and the example in botocore's ``pricing/2017-10-15/examples-1.json``). An on-demand term has price
dimensions with a unit (``Hrs``, ``GB-Mo``), a range of usage and dollars per unit. The call needs
the permission ``pricing:GetProducts``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import pricing
from benchlab.plan import topology as topologies
from benchlab.plan.pricing import HOURS_A_MONTH, ROOT_VOLUME, S3, Price, PriceList
from benchlab.targets.ec2.calls import AwsError, call

# The API's region, by the beginning of a region's name; each has the prices of all regions.
ENDPOINTS = {"eu": "eu-central-1", "ap": "ap-south-1"}
ENDPOINT = "us-east-1"
SOURCE = "AWS Price List Query API, {service}"
# Without all of them there are other prices of the same instance type: with SQL Server, on
# dedicated hosts, of reserved capacity that is not used.
_INSTANCE = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
# Storage: the service that sells it, and its filters. Without the family, gp3's IOPS and throughput
# fit as well.
_STORAGE = {
    ROOT_VOLUME: ("AmazonEC2", {"productFamily": "Storage", "volumeApiName": "gp3"}),
    S3: (
        "AmazonS3",
        {"productFamily": "Storage", "storageClass": "General Purpose", "volumeType": "Standard"},
    ),
}
# For a price an hour that is computed from one a month.
_PLACES = Decimal("0.0000001")


def ask(access: Access, instance_type: str, region: str, today: date) -> Price:
    """The list price of an instance type, or of ``gp3`` or ``s3``, in a region.

    Example:
        ``ask(access, "m5.xlarge", "us-west-2", today).usd_per_hour`` is ``Decimal("0.192")``.

    Raises:
        TargetError: AWS's list has no such price, or several; names both.
        AwsError: AWS refuses, or cannot be asked.
    """
    stored = _STORAGE.get(instance_type)
    service, filters = stored or ("AmazonEC2", {"instanceType": instance_type, **_INSTANCE})
    client = access.aws("pricing", ENDPOINTS.get(region.partition("-")[0], ENDPOINT))
    products = list(_products(client, service, {**filters, "regionCode": region}))
    unit = "GB-Mo" if stored else "Hrs"
    dollars = {amount for product in products for amount in _dollars(product, unit)}
    if len(dollars) != 1:
        found = f"{len(dollars)} of them" if dollars else "none"
        raise TargetError(
            f"{instance_type} in {region}: AWS's price list should have one price in USD per "
            f"{unit} and has {found}; is the name right, and does the region offer it? Its line in "
            "the price list stays as it is"
        )
    (amount,) = dollars
    if stored:
        return Price(
            instance_type,
            region,
            None,
            (amount / HOURS_A_MONTH).quantize(_PLACES, ROUND_CEILING).normalize(),
            today,
            f"{SOURCE.format(service=service)} (${amount.normalize():f} a GiB-month of "
            f"{HOURS_A_MONTH} hours)",
        )
    try:
        vcpu = int(products[0]["product"]["attributes"]["vcpu"])
    except (LookupError, TypeError, ValueError) as error:
        raise TargetError(
            f"{instance_type} in {region}: AWS's price list does not say how many vCPU it has "
            "(product.attributes.vcpu); its line in the price list stays as it is"
        ) from error
    source = SOURCE.format(service=service)
    return Price(instance_type, region, vcpu, amount.normalize(), today, source)


def refresh(access: Access, home: Home, today: date) -> tuple[PriceList, list[Price], list[str]]:
    """Ask for the prices of the list and of all topologies, and write the list.

    Returns:
        The list as it was, the prices that AWS gave, and why it lacks others.

    Raises:
        SpecError: the list cannot be read or written.
        AwsError: AWS refuses, or cannot be asked; nothing was written.
    """
    before, found, faults = pricing.load(home.prices), list[Price](), list[str]()
    for kind, region in _wanted(home, before):
        try:
            found.append(ask(access, kind, region, today))
        except AwsError:
            raise  # AWS would refuse the other prices as well
        except TargetError as error:
            faults.append(str(error))
    before.updated(found).write()
    return before, found, faults


def refresh_if_old(access: Access, home: Home, today: date) -> list[str]:
    """Ask for new prices if one is older than :data:`pricing.OLD`; returns what was done.

    Example:
        ``refresh_if_old(Access(), home, date(2026, 11, 2))`` is empty, where none is.

    Raises:
        SpecError, AwsError: as :func:`refresh`; but missing credentials are only said.
    """
    oldest = pricing.load(home.prices).oldest()
    if oldest is None or today - oldest <= pricing.OLD:
        return []
    try:
        _, found, faults = refresh(access, home, today)
    except AwsError as error:
        if not error.no_credentials:
            raise
        why = "there are no AWS credentials here to ask for today's"
        return [f"{home.prices}: the oldest price is of {oldest}, and {why}: plans say so"]
    return [f"{home.prices}: {len(found)} prices as of {today}", *faults]


def _wanted(home: Home, known: PriceList) -> list[tuple[str, str]]:
    """The types and regions in the price list, and those that topologies may rent, each once."""
    wanted = dict.fromkeys(known.prices)
    for topology in topologies.valid(home.configs / "topologies").values():
        if (rented := topologies.on_ec2(topology)) is not None:
            kinds = sorted({kind for one in rented.roles.values() for kind in one.types})
            wanted |= dict.fromkeys(itertools.product((*kinds, ROOT_VOLUME, S3), rented.regions))
    return list(wanted)


def _products(client: Any, service: str, filters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    request: dict[str, Any] = {
        "ServiceCode": service,
        "FormatVersion": "aws_v1",
        "Filters": [
            {"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in filters.items()
        ],
    }
    while True:
        answer = call(client, "get_products", **request)
        yield from map(json.loads, answer["PriceList"])
        if not answer.get("NextToken"):
            return
        request["NextToken"] = answer["NextToken"]


def _dollars(product: Mapping[str, Any], unit: str) -> Iterator[Decimal]:
    """The prices above 0 of a product's first unit of usage, on demand."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term.get("priceDimensions", {}).values():
            if dimension.get("unit") == unit and dimension.get("beginRange", "0") == "0":
                try:
                    amount = Decimal(dimension["pricePerUnit"]["USD"])
                except (LookupError, InvalidOperation):  # in yuan, in China's regions
                    continue
                if amount > 0:
                    yield amount
