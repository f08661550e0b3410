"""Publish a report into a bucket of S3::

    <prefix>/<report type>/<campaign>/<edition>/report.html, ...   one edition, never changed

An edition is named by its content, so that a report that is rendered differently later, as after
more calibration, is put beside the earlier one. Its main page is written last: if it is there, the
whole edition is. Pages over all campaigns are those of `benchlab site --to s3://bucket/prefix`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from pydantic import Field

from benchlab.errors import PublishError, TargetError
from benchlab.report.publish.publisher import (
    MAIN_PAGE,
    BasePublisher,
    Options,
    Publication,
)
from benchlab.report.publish.s3.bucket import Bucket

# Calls at the same time; boto3's clients may be shared by threads.
AT_ONCE = 8
SETTINGS = (
    "see the settings of AWS: in Airflow the Connection benchlab_aws, elsewhere environment or "
    "profile"
)


class S3Options(Options):
    """Where in S3.

    Attributes:
        bucket: it must exist; its owner decides who may read it.
        prefix: what all keys begin with; empty: the reports have the bucket to themselves.
    """

    bucket: Annotated[
        str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", examples=["my-reports"])
    ]
    prefix: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$")
    ] = ""
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]+$", examples=["us-west-2"])]

    @property
    def place(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


class Publisher(BasePublisher):
    """One prefix of a bucket."""

    options_model = S3Options

    def publish(self, publication: Publication) -> str:
        """See :meth:`BasePublisher.publish`; the address is ``s3://bucket/key``."""
        bucket = self._bucket()
        parts = (self.options.prefix, publication.report, publication.campaign, publication.edition)
        folder = "/".join(filter(None, parts))
        there = bucket.listing(f"{folder}/")

        def put(name: str) -> None:
            content = publication.files[name]
            if there.get(f"{folder}/{name}") != len(content):
                bucket.put(f"{folder}/{name}", content, changes=False)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(put, [name for name in publication.files if name != MAIN_PAGE]))
        put(MAIN_PAGE)
        return f"s3://{bucket.name}/{folder}/{MAIN_PAGE}"

    def _bucket(self) -> Bucket:
        from botocore.exceptions import BotoCoreError

        try:
            client = self.access.aws("s3", self.options.region)
        except (TargetError, BotoCoreError, ValueError) as error:  # no such profile; not a URL
            raise PublishError(f"{self.place}: no client for S3: {error}; {SETTINGS}") from error
        return Bucket(client, self.options.bucket)
