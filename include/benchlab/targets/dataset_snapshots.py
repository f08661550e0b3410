"""Dataset snapshots on S3: a dataset that one campaign loaded fills the clusters of later ones.

A snapshot belongs to a dataset, a version, the configuration of the storage and, for workloads
with more than one client, the client that loaded it. Its place says so::

    s3://bucket/prefix/<workloads>/<version>-<digest of the rest>.json  the note
    s3://bucket/prefix/<workloads>/<version>-<digest of the rest>/<campaign>/<time>/  BR's files

Every try to save a dataset has its own place, because BR refuses a place that holds the files of
an interrupted try. The note is written last, and says which place is complete.

The hosts read and write BR's files with their own permissions (an instance profile). Benchlab
itself reads and writes only the note, which has the dataset's checksum.

The storage lays restored data out differently from data loaded row by row. So either both sides of
a campaign are restored or neither is, and the report says which.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan.report_type import ReportSpec, SideSpec
from benchlab.targets.ec2.calls import AwsError, call

Source = Literal["load", "snapshot"]
# Raised when the way datasets are loaded changes what they hold.
GENERATION = 1


@dataclass(frozen=True)
class DatasetSnapshot:
    """The place of one side's dataset.

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
        """The note's keys: ``url``, ``checksum``, ``campaign``, ``created_at``, ``client_program``.

        Older notes lack ``client_program``.

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
        if not isinstance(found, dict) or not found.keys() >= {"url", "checksum"}:
            raise TargetError(
                f"snapshots: {self.note} does not say where the dataset is, and its checksum; "
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
    side: SideSpec,
    family: str,
    client_program: str | None,
    access: Access,
    region: str,
) -> DatasetSnapshot:
    """Where a side's dataset is, or would be.

    Args:
        family: the workloads that share this dataset, for example ``sysbench``.
        client_program: the program that loads it, where several can: each generates different
            rows. None: only one can, and the place is the same as in earlier releases.
        region: the AWS region of the bucket.

    Example:
        ``place(spec, side, "sysbench", None, Access(), "us-west-2").read_note()``
    """
    contents = {
        "generation": GENERATION,
        "dataset": spec.dataset.model_dump(),
        # These decide how the storage lays the rows out; the settings of TiDB servers do not.
        "storage": {name: side.components.get(name, {}) for name in ("pd", "tikv")},
        "clustered_index": side.parameters.get("tidb_enable_clustered_index"),
        **({"client_program": client_program} if client_program else {}),
    }
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:12]
    root = (spec.snapshots or "").rstrip("/")
    return DatasetSnapshot(f"{root}/{family}/{side.version}-{digest}", access, region)
