"""S3 as moto has it, and a small report to publish there."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from moto import mock_aws
from moto.backends import get_backend
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import DEFAULT_ACCOUNT_ID

from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish import publisher_of
from benchlab.report.publish.publisher import BasePublisher, Publication

PROJECT = Path(__file__).parents[2]
REGION = "eu-west-1"
BUCKET = "my-reports"
ON_S3 = {"to": "s3", "bucket": BUCKET, "prefix": "tidb/weekly", "region": REGION}
PLACE = f"s3://{BUCKET}/tidb/weekly"
FILES = {"report.md": b"# The report", "report.html": b"<h1>The report</h1>"}
OF_EVERY_KIND = {
    **FILES,
    "report.json": b"{}",
    "trials.csv": b"a,b\n",
    "charts/overview.svg": b"<svg/>",
    "evidence.zip": b"PK",
    "strange.bin": b"\0",
}


class S3:
    """moto's S3, and what was asked of it.

    Attributes:
        client: boto3's, that tries again twice.
        asked: operation and key of every request, in order.
        refuse: answers a request itself, with a status and a body; None: S3 does.
    """

    def __init__(self) -> None:
        keys = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "s3cr3t"}
        retries = Config(retries={"mode": "standard", "max_attempts": 3})
        self.client: Any = boto3.client("s3", region_name=REGION, config=retries, **keys)
        self.asked: list[tuple[str, str]] = []
        self.refuse: Callable[[str, str], tuple[int, str] | None] = lambda operation, key: None
        self.client.meta.events.register_first("before-send.s3", self._seen)

    def _seen(self, request: Any, event_name: str, **_: Any) -> AWSResponse | None:
        operation = event_name.rpartition(".")[2]
        key = re.sub(r"\?.*", "", request.url).partition(".com/")[2]
        self.asked.append((operation, key))
        if (refusal := self.refuse(operation, key)) is None:
            return None
        # botocore asks moto as well and takes the first answer: let that be nothing that writes.
        request.method = "HEAD"
        status, code = refusal
        body = f"<Error><Code>{code}</Code><Message>said so</Message></Error>".encode()

        class Raw:
            def stream(self) -> Iterator[bytes]:
                yield body

        return AWSResponse(request.url, status, {"Content-Type": "application/xml"}, Raw())

    @property
    def access(self) -> Access:
        """To this S3; nothing else is asked for, and in no other region."""

        def client(service: str, region: str) -> Any:
            assert (service, region) == ("s3", REGION)
            return self.client

        return Access(aws=client)

    def create(self, bucket: str) -> None:
        """One more bucket."""
        where = {"LocationConstraint": REGION}
        self.client.create_bucket(Bucket=bucket, CreateBucketConfiguration=where)

    @property
    def puts(self) -> list[str]:
        """The keys that were put since it was last asked, in order."""
        keys = [key for operation, key in self.asked if operation == "PutObject"]
        self.asked.clear()
        return keys

    def all(self) -> dict[str, bytes]:
        """Every object."""
        listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {found["Key"]: self.read(found["Key"]) for found in listed}

    def read(self, key: str) -> bytes:
        """One object."""
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content


@pytest.fixture(scope="module")
def moto() -> Iterator[S3]:
    """Started once, which takes a second; it answers one request at a time, as it has to."""
    answer, one = BotocoreStubber.__call__, threading.Lock()

    def answer_one(self: BotocoreStubber, *args: Any, **named: Any) -> Any:
        with one:
            return answer(self, *args, **named)

    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setattr(BotocoreStubber, "__call__", answer_one)
        yield S3()


@pytest.fixture
def s3(moto: S3) -> S3:
    """With one empty bucket, asked for nothing yet."""
    moto.refuse = lambda operation, key: None
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].reset()
    moto.create(BUCKET)
    moto.asked.clear()
    return moto


def publication(**fields: Any) -> Publication:
    """A small report."""
    made = Publication(
        campaign="c1",
        report="sysbench_test",
        files=FILES,
    )
    return dataclasses.replace(made, **fields)


def publisher(s3: S3, **options: str) -> BasePublisher:
    """Of the bucket, with other options or without one."""
    fields = {key: value for key, value in {**ON_S3, **options}.items() if value}
    return publisher_of(Destination(**fields), Home(PROJECT, Path("/nowhere")), s3.access)


def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore tries again at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
