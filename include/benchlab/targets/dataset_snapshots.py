"""Dataset snapshots on S3: what a campaign has loaded once seeds the next one's fleet.

A snapshot belongs to a dataset, a version, the storage's configuration and, where workloads have
more than one client, to the one that loaded it; its place says so::

    s3://bucket/prefix/<workloads>/<version>-<digest of the rest>.json  the note
    s3://bucket/prefix/<workloads>/<version>-<digest of the rest>/<campaign>/<time>/  BR's files

Every try to save one has a place of its own: BR refuses one that holds what a cut-off try left.
The note is written last and says which place is whole.

The hosts read and write the files with permissions of their own (an instance profile); Benchlab
only looks for the note beside them, which has the dataset's checksum.

Restored data is laid out differently in the storage from data loaded row by row. So either both
sides of a campaign are restored or neither is, and the report says which.
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
        url: below which BR's files are.
        note: beside it, once all are there.
    """

    url: str
    access: Access
    region: str

    @property
    def note(self) -> str:
        return f"{self.url}.json"

    def read_note(self) -> dict[str, Any] | None:
        """``url``, ``checksum``, ``campaign``, ``created_at`` and ``client_program``, which older
        notes lack; None where none is whole.

        Raises:
            TargetError: S3 does not answer, or refuses, or what lies there is no such note.
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
        """Where a campaign saves the dataset: empty, also when it tries once more."""
        return f"{self.url}/{campaign}/{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"

    def write_note(self, note: dict[str, Any]) -> None:
        """Say that the snapshot is whole.

        Raises:
            TargetError: S3 does not answer, or refuses.
        """
        try:
            self._call("put_object", Body=json.dumps(note, indent=1).encode())
        except AwsError as error:
            raise TargetError(f"snapshots: {self.note} cannot be written: {error}") from error

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """A call about the note."""
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
        family: the workloads that share this dataset: ``sysbench``.
        client_program: what loads it, where there is a choice: each fills in rows of its own.
            None: there is none, and the place is that of releases that did not know of any.
    """
    contents = {
        "generation": GENERATION,
        "dataset": spec.dataset.model_dump(),
        # What decides how the storage lays the rows out; a TiDB server's items do not.
        "storage": {name: side.components.get(name, {}) for name in ("pd", "tikv")},
        "clustered_index": side.parameters.get("tidb_enable_clustered_index"),
        **({"client_program": client_program} if client_program else {}),
    }
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:12]
    root = (spec.snapshots or "").rstrip("/")
    return DatasetSnapshot(f"{root}/{family}/{side.version}-{digest}", access, region)
