"""A stand-in for AWS's Price List Query API, in its documented format.

The document of a product is that of *Finding services and products using the AWS Price List Query
API* (AWS Billing User Guide) and of the example in botocore's ``pricing/2017-10-15``. It answers
with one product a page, as ``MaxResults`` allows, and refuses as the service's model says: a filter
on an attribute that the service does not have (``InvalidParameterException``), an unknown service
(``NotFoundException``), a page that it never named (``InvalidNextTokenException``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse

from benchlab.hosts.access import Access

INSTANCE = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def product(
    service: str, family: str, attributes: Mapping[str, str], unit: str, *usd: str
) -> dict[str, Any]:
    """A product with its on-demand prices: several are for more and more usage."""
    sku = f"SKU{abs(hash((service, family, tuple(attributes.items())))):X}"[:16]
    ends = [str(51200 * 10**n) for n in range(len(usd) - 1)]
    dimensions = {
        f"{sku}.JRTCKXETXF.{n}": {
            "unit": unit,
            "beginRange": begin,
            "endRange": end,
            "description": f"${amount} per {unit}",
            "appliesTo": [],
            "rateCode": f"{sku}.JRTCKXETXF.{n}",
            "pricePerUnit": {"USD": amount},
        }
        for n, (amount, begin, end) in enumerate(
            zip(usd, ["0", *ends], [*ends, "Inf"], strict=True)
        )
    }
    term = {
        "sku": sku,
        "offerTermCode": "JRTCKXETXF",
        "effectiveDate": "2026-11-01T00:00:00Z",
        "termAttributes": {},
        "priceDimensions": dimensions,
    }
    reserved = {"priceDimensions": {"r": {"unit": unit, "pricePerUnit": {"USD": "0.0100000000"}}}}
    return {
        "serviceCode": service,
        "product": {
            "sku": sku,
            "productFamily": family,
            "attributes": {"servicecode": service, "locationType": "AWS Region", **attributes},
        },
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}, "Reserved": {"r": reserved}},
        "version": "20261101000000",
        "publicationDate": "2026-11-01T00:00:00Z",
    }


def instance(kind: str, usd: str, region: str = "us-west-2", **others: str) -> dict[str, Any]:
    """A price of an instance type; on demand, unless ``others`` say otherwise."""
    named = {"instanceType": kind, "vcpu": "4", "regionCode": region, **INSTANCE, **others}
    return product("AmazonEC2", "Compute Instance", named, "Hrs", usd)


def fleet(kind: str, usd: str) -> list[dict[str, Any]]:
    """An instance type with all that AWS sells under its name."""
    return [
        instance(kind, usd),
        instance(kind, "9.1000000000", operatingSystem="Windows"),
        instance(kind, "9.2000000000", tenancy="Dedicated"),
        instance(kind, "9.3000000000", preInstalledSw="SQL Std"),
        instance(kind, "9.4000000000", capacitystatus="UnusedCapacityReservation"),
        instance(kind, "9.5000000000", region="eu-central-1"),
    ]


STORAGE = [
    product(
        "AmazonEC2",
        "Storage",
        {"volumeApiName": "gp3", "volumeType": "General Purpose", "regionCode": "us-west-2"},
        "GB-Mo",
        "0.0800000000",
    ),
    product(
        "AmazonEC2",
        "Provisioned Throughput",
        {"volumeApiName": "gp3", "volumeType": "General Purpose", "regionCode": "us-west-2"},
        "GiBps-mo",
        "40.9600000000",
    ),
    product(
        "AmazonS3",
        "Storage",
        {
            "storageClass": "General Purpose",
            "volumeType": "Standard",
            "regionCode": "us-west-2",
        },
        "GB-Mo",
        *("0.0230000000", "0.0220000000", "0.0210000000"),
    ),
    product(
        "AmazonS3",
        "Storage",
        {"storageClass": "Infrequent Access", "volumeType": "Standard - Infrequent Access",
         "regionCode": "us-west-2"},
        "GB-Mo",
        "0.0125000000",
    ),
]  # fmt: skip


class PriceApi:
    """The service.

    Attributes:
        regions: in which of its regions it was asked, in order.
        refuse: the error code with which it answers; None: it answers.
    """

    def __init__(self, products: list[dict[str, Any]]) -> None:
        self.products, self.regions = products, list[str]()
        self.refuse: str | None = None

    def access(self) -> Access:
        """To this service, with credentials of nobody."""
        return Access(aws=self._client)

    def _client(self, service: str, region: str) -> Any:
        assert service == "pricing"
        assert region in ("us-east-1", "eu-central-1", "ap-south-1"), "there is no other endpoint"
        client = boto3.client(
            "pricing",
            region_name=region,
            aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
            aws_secret_access_key="s3cr3t",
        )
        self.regions.append(region)
        client.meta.events.register_first("before-send.pricing.GetProducts", self._answer)
        return client

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        asked = json.loads(request.body)
        answer = self._page(asked)
        body = json.dumps(answer).encode()

        class Raw:
            def stream(self) -> Iterator[bytes]:
                yield body

        return AWSResponse(request.url, 400 if "__type" in answer else 200, {}, Raw())

    def _page(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if self.refuse is not None:
            return {"__type": self.refuse, "message": "no"}
        of_service = [p for p in self.products if p["serviceCode"] == asked["ServiceCode"]]
        if not of_service:
            return {"__type": "NotFoundException", "message": "no such service"}
        known = {name for p in of_service for name in p["product"]["attributes"]}
        found = of_service
        for one in asked["Filters"]:
            name, value = one["Field"], one["Value"]
            if one["Type"] != "TERM_MATCH" or name not in known | {"productFamily"}:
                return {"__type": "InvalidParameterException", "message": f"filter {name}"}
            found = [
                p
                for p in found
                if {**p["product"]["attributes"], **p["product"]}.get(name) == value
            ]
        at = int(asked.get("NextToken", "0"))
        if at and at >= len(found):
            return {"__type": "InvalidNextTokenException", "message": "no such page"}
        answer: dict[str, Any] = {
            "FormatVersion": asked["FormatVersion"],
            "PriceList": [json.dumps(p) for p in found[at : at + 1]],
        }
        return answer | ({"NextToken": str(at + 1)} if at + 1 < len(found) else {})
