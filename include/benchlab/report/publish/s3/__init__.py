"""Publish a report into a bucket of S3, with an index over all reports that are there::

    <prefix>/index.html                                     all campaigns, the latest first
    <prefix>/<report type>/<campaign>/index.html            its latest edition, and earlier ones
    <prefix>/<report type>/<campaign>/<edition>/report.html, ...   one edition, never changed
    <prefix>/_entries/<report type>/<campaign>.json         its line of the index

An edition is named by its content, so that a report that is rendered differently later, as after
more calibration, is put beside the earlier one. Every object is written before anything links to
it, and the main page of an edition last: if it is there, the whole edition is.

The index is made from the entries. Concurrent publishers each write their own entry, and renew the
index until no entry has changed in the meantime; so the last index has all entries.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Annotated

from pydantic import Field

from benchlab.errors import PublishError, TargetError
from benchlab.report.publish.publisher import (
    DIGEST_LENGTH,
    BasePublisher,
    Options,
    Publication,
)
from benchlab.report.publish.s3 import pages
from benchlab.report.publish.s3.bucket import Bucket, Listing
from benchlab.report.publish.s3.pages import Entry

# Calls at the same time; boto3's clients may be shared by threads.
AT_ONCE = 8
INDEX = "index.html"
SETTINGS = (
    "see the settings of AWS: in Airflow the Connection benchlab_aws, elsewhere environment or "
    "profile"
)


class S3Options(Options):
    """Where in S3.

    Attributes:
        bucket: it must exist; its owner decides who may read it.
        prefix: what all keys begin with; empty: the reports have the bucket to themselves.
        region: of the bucket.
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
        entry = Entry.from_publication(publication)  # before anything is written
        bucket = self._bucket()
        folder = self._key(publication.report, publication.campaign)
        there = bucket.listing(f"{folder}/")
        self._upload(bucket, publication, f"{folder}/{publication.edition}", there)
        earlier = _earlier(publication, folder, there)
        bucket.renew(f"{folder}/{INDEX}", pages.campaign(entry, earlier))
        line = self._key(pages.ENTRIES, publication.report, f"{publication.campaign}.json")
        bucket.renew(line, entry.to_json())
        self._renew_index(bucket)
        return f"s3://{bucket.name}/{folder}/{publication.edition}/{publication.main_page}"

    def _bucket(self) -> Bucket:
        from botocore.exceptions import BotoCoreError

        try:
            client = self.access.aws("s3", self.options.region)
        except (TargetError, BotoCoreError, ValueError) as error:  # no such profile; not a URL
            raise PublishError(f"{self.place}: no client for S3: {error}; {SETTINGS}") from error
        return Bucket(client, self.options.bucket)

    def _key(self, *parts: str) -> str:
        return "/".join(part for part in (self.options.prefix, *parts) if part)

    def _upload(self, bucket: Bucket, publication: Publication, to: str, there: Listing) -> None:
        """Upload what is missing of an edition, its main page last."""

        def put(name: str) -> None:
            found, content = there.get(f"{to}/{name}"), publication.files[name]
            if found is None or found.size != len(content):
                bucket.put(f"{to}/{name}", content, changes=False)

        main_page = publication.main_page
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(put, [name for name in publication.files if name != main_page]))
        put(main_page)

    def _renew_index(self, bucket: Bucket) -> None:
        made_from: Listing | None = None
        while (there := bucket.listing(f"{self._key(pages.ENTRIES)}/")) != made_from:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                found = dict(zip(there, pool.map(bucket.read, there), strict=True))
            # None: gone since it was listed, so that the next listing differs.
            lines = {key: content for key, content in found.items() if content is not None}
            bucket.renew(self._key(INDEX), pages.index(lines))
            made_from = there


def _earlier(publication: Publication, folder: str, there: Listing) -> dict[str, datetime]:
    """The other editions that have their main page, with the time of each, the latest first."""
    edition = rf"{re.escape(folder)}/([0-9a-f]{{{DIGEST_LENGTH}}})/"
    main_page = re.compile(edition + re.escape(publication.main_page))
    found = {
        match[1]: stored.at for key, stored in there.items() if (match := main_page.fullmatch(key))
    }
    found.pop(publication.edition, None)
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=True))
