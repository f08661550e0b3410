"""Dataset snapshots on S3: a dataset that one campaign loaded fills the clusters of later ones.

A snapshot belongs to a dataset, to the form in which its rows are stored (``stored_as`` in
:mod:`benchlab.engines.cluster`) and, for workloads with more than one client, to the client that
loaded it. Its place says so::

    s3://bucket/prefix/<workloads>/dataset-<digest of these>.json  the note
    s3://bucket/prefix/<workloads>/dataset-<digest of these>/<campaign>/<time>/  BR's files

It does not belong to a version: BR restores a backup into newer versions, so the oldest version in
use takes it, and all hold the same rows. Into older versions it is never restored: BR refuses that
where two major versions lie between (CheckVersionForBackup in its pkg/version/version.go), and
promises nothing where fewer do. A campaign with a side that is older than the note loads the
dataset on that side, and its note takes the place of the earlier one.

Every try to save a dataset has its own place, because BR refuses a place that holds the files of
an interrupted try. The note is written last, and says which place is complete.

The hosts read and write BR's files with their own permissions (an instance profile). Benchlab
itself reads and writes only the note, which has the dataset's checksum.

The storage lays restored data out differently from data loaded row by row. So either both sides of
a campaign are restored or neither is, and the report says which. That both then hold the same rows
is proved twice: BR compares each restored table with the backup's checksum, and the note has the
numbers of key-values and bytes that each side must have.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan import versions
from benchlab.plan.report_type import ReportSpec
from benchlab.targets.ec2.calls import AwsError, call

Source = Literal["load", "snapshot", "new snapshot"]
"""Whether the client loads all sides, all are restored from what is there, or from what this
campaign has to load and back up first."""
# Raised when the way datasets are loaded changes what they hold. 1 had a place for each version.
GENERATION = 2


@dataclass(frozen=True)
class DatasetSnapshot:
    """The place of a dataset, which the sides that store it in the same form share.

    Attributes:
        url: BR's files are below it.
        access: makes the S3 client.
        region: the AWS region of the bucket.
    """

    url: str
    access: Access
    region: str

    @property
    def note(self) -> str:
        """The URL of the note, which is there once a place is complete."""
        return f"{self.url}.json"

    def read_note(self) -> dict[str, Any] | None:
        """The note's keys: ``url``, ``checksum`` (without what belongs to one cluster), the
        ``version`` that took it, ``campaign``, ``created_at``, ``client_program``.

        Returns:
            None if there is no complete snapshot.

        Raises:
            TargetError: S3 does not answer or refuses, or the object is not such a note.
        """
        from botocore.exceptions import BotoCoreError

        try:
            found: Any = json.loads(self._call("get_object")["Body"].read())
        except (AwsError, BotoCoreError, ValueError) as error:
            if isinstance(error, AwsError) and error.code in ("NoSuchKey", "404"):
                return None
            raise TargetError(f"snapshots: {self.note} cannot be read: {error}") from error
        parts = ("url", "checksum", "version")
        whole = isinstance(found, dict) and all(isinstance(found.get(p), str) for p in parts)
        if not whole:
            raise TargetError(
                f"snapshots: {self.note} does not say where the dataset is, its checksum and "
                "version; "
                "delete it, so that the dataset is loaded and kept anew"
            )
        return dict(found)

    def fresh_place(self, campaign: str) -> str:
        """A new URL under which a campaign saves the dataset; another one at each call."""
        return f"{self.url}/{campaign}/{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"

    def write_note(self, note: dict[str, Any]) -> None:
        """Declare the snapshot complete; the keys are listed at :meth:`read_note`.

        Raises:
            TargetError: S3 does not answer, or refuses.
        """
        from botocore.exceptions import BotoCoreError

        try:
            self._call("put_object", Body=json.dumps(note, indent=1).encode())
        except (AwsError, BotoCoreError) as error:
            raise TargetError(f"snapshots: {self.note} cannot be written: {error}") from error

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call S3 on the note."""
        place, s3 = urlsplit(self.note), self.access.aws("s3", self.region)
        return call(s3, operation, Bucket=place.netloc, Key=place.path.lstrip("/"), **arguments)


def place(
    spec: ReportSpec,
    family: str,
    stored_as: Mapping[str, str],
    client_program: str | None,
    access: Access,
    region: str,
) -> DatasetSnapshot:
    """Where a dataset is, or would be.

    Args:
        family: the workloads that share this dataset, for example ``sysbench``.
        stored_as: what decides in which form its rows are stored.
        client_program: the program that loads it, where several can: each generates different
            rows. None: only one can.
        region: the AWS region of the bucket.

    Example:
        ``place(spec, "sysbench", {"new_collations": "ON"}, None, Access(), "us-west-2").note``
    """
    contents = {
        "generation": GENERATION,
        "dataset": spec.dataset.model_dump(),
        "stored_as": dict(stored_as),
        **({"client_program": client_program} if client_program else {}),
        **({"client": spec.client.choices} if spec.client.choices else {}),
    }
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:12]
    root = (spec.snapshots or "").rstrip("/")
    return DatasetSnapshot(f"{root}/{family}/dataset-{digest}", access, region)


def age(version: str) -> tuple[bool, tuple[tuple[int, ...], bool, str]]:
    """A sort key for versions, the oldest first; what has no number counts as the newest.

    Example:
        ``min("v6.5.0", "v6.1.7", key=age)`` is ``"v6.1.7"``.
    """
    return re.match(r"v?\d", version) is None, versions.order(version)


def differences(found: str, noted: str) -> str:
    """The tables in which two checksums differ, for people."""
    one, other = (dict(part.split(":", 1) for part in text.split()) for text in (found, noted))
    return "; ".join(
        f"{table} has {one.get(table, 'no rows')} instead of {other.get(table, 'no rows')}"
        for table in sorted(one.keys() | other.keys())
        if one.get(table) != other.get(table)
    )
