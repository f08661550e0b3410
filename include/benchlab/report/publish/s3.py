"""Publishes reports in an S3 bucket::

    <prefix>/<report type>/<campaign>/<edition>/report.html, ...   one edition, never changed

An edition is named by its content, so a report that is rendered differently later (such as after
more calibration) goes beside the earlier one. The main page is written last: if it exists, the
edition is complete. Pages over all campaigns come from ``benchlab site --to s3://bucket/prefix``.

boto3's client retries throttling, lost connections and 5xx; what still fails is raised as
:class:`PublishError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from benchlab.errors import PublishError, TargetError
from benchlab.hosts.access import Access
from benchlab.report.publish.publisher import (
    MAIN_PAGE,
    BasePublisher,
    Options,
    Publication,
)

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".zip": "application/zip",
}
UNKNOWN = "application/octet-stream"
# A year, the longest that caches heed.
FOR_EVER = "max-age=31536000, immutable"
ASK_AGAIN = "no-cache"

_MAY_NOT = (
    "the credentials need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject on what "
    "is below the prefix"
)
_WRONG_CREDENTIALS = (
    "see the credentials: in Airflow the Connection benchlab_aws, elsewhere environment, profile "
    "or instance role"
)
# For a report's destination; a `{}` is the option that is wrong.
_CORRECT = (
    "correct `{}`: for this campaign with `benchlab publish CAMPAIGN --set 'publish=[...]'`, for "
    "later ones in the report type's `publish`"
)
_NO_ACCESS = frozenset({"AccessDenied", "AllAccessDisabled", "403", "Forbidden"})
_NO_CREDENTIALS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
)
_ELSEWHERE = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "301"})


class Bucket:
    """One bucket; every call raises :class:`PublishError` if S3 refuses or does not answer.

    Args:
        client: boto3's client for S3.
        correct: advice for a wrong bucket or region, with ``{}`` for the name of the option.

    Example:
        ``Bucket.at("s3://b/p", "b", "us-west-2", access).read("p/site.json")``
    """

    @classmethod
    def at(cls, address: str, name: str, region: str, access: Access, **correct: str) -> Bucket:
        """The bucket ``name``, reached with the caller's access; ``address`` is for messages."""
        from botocore.exceptions import BotoCoreError

        try:
            return cls(access.aws("s3", region), name, **correct)
        except (TargetError, BotoCoreError, ValueError) as error:  # no such profile; not a URL
            raise PublishError(f"{address}: no client for S3: {error}; {SETTINGS}") from error

    def __init__(self, client: Any, name: str, *, correct: str = _CORRECT) -> None:
        self._client, self.name, self._correct = client, name, correct

    def listing(self, prefix: str) -> dict[str, int]:
        """The keys of all objects under a prefix, with their sizes in bytes."""
        with self._errors("listing", prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=prefix
            )
            return {
                found["Key"]: found["Size"] for page in pages for found in page.get("Contents", ())
            }

    def read(self, key: str) -> bytes | None:
        """An object's content; None if it does not exist."""
        from botocore.exceptions import ClientError

        with self._errors("reading", key):
            try:
                answer = self._client.get_object(Bucket=self.name, Key=key)
            except ClientError as error:
                if _code(error) in ("NoSuchKey", "404"):
                    return None
                raise
            content: bytes = answer["Body"].read()
            return content

    def put(self, key: str, content: bytes, *, changes: bool) -> None:
        """Write an object, as a whole or not at all.

        Args:
            changes: whether the content of this key may change later; if not, caches may keep it
                for a year, else they have to ask again.
        """
        with self._errors("writing", key):
            self._client.put_object(
                Bucket=self.name,
                Key=key,
                Body=content,
                ContentType=CONTENT_TYPES.get(PurePosixPath(key).suffix, UNKNOWN),
                CacheControl=ASK_AGAIN if changes else FOR_EVER,
            )

    def remove(self, key: str) -> None:
        """Remove an object, if it exists."""
        with self._errors("removing", key):
            self._client.delete_object(Bucket=self.name, Key=key)

    @contextmanager
    def _errors(self, doing: str, key: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        where = f"{doing} s3://{self.name}/{key}"
        try:
            yield
        except ClientError as error:
            said = error.response.get("Error", {}).get("Message", "")
            sentence = f"{where}: {_code(error)}: {said}"
            raise PublishError(self._advised(sentence, _code(error))) from error
        except BotoCoreError as error:
            raise PublishError(self._advised(f"{where}: {error}", type(error).__name__)) from error

    def _advised(self, sentence: str, code: str) -> str:
        """The sentence with advice, where there is any for this error code."""
        advice = ""
        if "Credential" in code or code in _NO_CREDENTIALS:  # NoCredentialsError, ...
            advice = _WRONG_CREDENTIALS
        elif code in _NO_ACCESS:
            advice = _MAY_NOT
        elif code == "NoSuchBucket":
            advice = f"make the bucket, or {self._correct.format('bucket')}"
        elif code in _ELSEWHERE:
            advice = self._correct.format("region")
        return f"{sentence}; {advice}" if advice else sentence


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", "no code"))


# Concurrent calls; boto3's clients are thread-safe.
AT_ONCE = 8
SETTINGS = (
    "see the settings of AWS: in Airflow the Connection benchlab_aws, elsewhere environment or "
    "profile"
)


class S3Options(Options):
    """The place in S3.

    Attributes:
        bucket: has to exist; its owner decides who may read it.
        prefix: the beginning of all keys, without a slash at its end; empty: none.
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
    """Publishes under one prefix of a bucket."""

    options_model = S3Options

    def publish(self, publication: Publication) -> str:
        """See :meth:`BasePublisher.publish`; the address is ``s3://bucket/key``."""
        to = self.options
        bucket = Bucket.at(self.place, to.bucket, to.region, self.access)
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
