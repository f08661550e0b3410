"""A bucket of S3: lists, reads and writes its objects.

boto3's client retries (throttling, lost connections, 5xx); what still fails is raised as
:class:`PublishError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from benchlab.errors import PublishError

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
        client: boto3's, for S3.
        correct: what to do where the bucket or its region is named wrongly.
    """

    def __init__(self, client: Any, name: str, *, correct: str = _CORRECT) -> None:
        self._client, self.name, self._correct = client, name, correct

    def listing(self, prefix: str) -> dict[str, int]:
        """All objects whose keys begin with ``prefix``, with their sizes in bytes."""
        with self._errors("listing", prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.name, Prefix=prefix
            )
            return {
                found["Key"]: found["Size"] for page in pages for found in page.get("Contents", ())
            }

    def read(self, key: str) -> bytes | None:
        """An object's content; None where there is none."""
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
        """Write an object, in one piece or not at all.

        Args:
            changes: whether the content under this key may change, so that caches have to ask
                again; otherwise they may keep it.
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
        """Remove an object; harmless where there is none."""
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
        """A sentence with what to do about it, where that is known."""
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
