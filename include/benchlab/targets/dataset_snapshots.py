"""Dataset snapshots on S3: a dataset that one campaign loaded fills the clusters of later ones.

A snapshot belongs to a dataset, to the form in which its rows are stored (``stored_as`` in
:mod:`benchlab.engines.cluster`) and, for workloads with more than one client, to the client that
loaded it. Its address follows from these::

    s3://bucket/prefix/<workloads>/dataset-<digest of these>.json  the note
    s3://bucket/prefix/<workloads>/dataset-<digest of these>/<campaign>/<time>/  BR's files

It does not belong to a version: BR restores a backup into newer versions, so the oldest version in
use takes it, and all hold the same rows. It is never restored into older versions: BR refuses that
across two major versions (CheckVersionForBackup in its pkg/version/version.go), and promises
nothing across fewer. A campaign with a side older than the note's version loads the dataset on that
side, and its note replaces the earlier one.

Every try to save a dataset has its own place, because BR refuses a place that holds the files of
an interrupted try. The note is written last, and says which place is complete.

The hosts read and write BR's files with their own permissions (an instance profile). Benchlab
itself reads and writes only the note, which has the dataset's checksum.

The storage lays restored data out differently from data loaded row by row. So either both sides of
a campaign are restored or neither is, and the report says which. That both hold the same rows is
checked twice: BR compares each restored table with the backup's checksum, and the note has the
numbers of key-values and bytes that each side must have.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from benchlab import engines, workloads
from benchlab.engines.cluster import BaseCluster
from benchlab.errors import BenchlabError, TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.answers import from_json
from benchlab.plan import versions
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.results.records import rows_of
from benchlab.targets.ec2.calls import AwsError, call
from benchlab.targets.fleet_files import SOURCE_FILE
from benchlab.targets.fleet_files import write as write_file

Source = Literal["load", "snapshot", "new snapshot"]
"""How all sides get their data: the client loads each; they are restored from a snapshot that is
there; or from one that this campaign first has to load and back up."""
# Raised when the way datasets are loaded changes what they hold. 1 had a place for each version.
GENERATION = 2
_NOTE_BYTES = 1 << 20
# In a note that this campaign holds: the note is its own; true until it is on S3. The id does not
# tell: another home's campaign may have it, or this one had it before it was resumed.
_OWN = "own"


@dataclass(frozen=True)
class DatasetSnapshot:
    """The place of a dataset, shared by the sides that store it in the same form.

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
        """The URL of the note, which exists once a place is complete."""
        return f"{self.url}.json"

    def read_note(self) -> dict[str, Any] | None:
        """Read the note; None if there is no complete snapshot.

        Its keys: ``url``, ``checksum`` (without what belongs to one cluster), the ``version`` that
        took it, ``campaign``, ``created_at``, ``client_program``.

        Raises:
            TargetError: S3 does not answer or refuses, or the object is not a note.
        """
        from botocore.exceptions import BotoCoreError

        try:
            found: Any = from_json(self._call("get_object")["Body"].read(_NOTE_BYTES))
        except (AwsError, BotoCoreError, ValueError) as error:
            if isinstance(error, AwsError) and error.code in ("NoSuchKey", "404"):
                return None
            raise TargetError(f"snapshots: {self.note} cannot be read: {error}") from error
        parts = ("url", "checksum", "version")
        whole = isinstance(found, dict) and all(isinstance(found.get(p), str) for p in parts)
        if not whole:
            raise TargetError(
                f"snapshots: {self.note} does not say where the dataset is, its checksum and "
                "version; delete it, and the dataset is loaded and kept again"
            )
        return dict(found)

    def fresh_place(self, campaign: str) -> str:
        """A new URL under which a campaign saves the dataset; each call returns another."""
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


@dataclass(frozen=True)
class KeptDatasets:
    """What a campaign does with dataset snapshots: whether it restores, loads, or loads and saves.

    Decided once per campaign, for all sides, and kept in its directory, because later campaigns may
    write other notes meanwhile.

    Args:
        state: the campaign's directory on this machine.
        region: the AWS region of the bucket.
        client: the client that loads, once chosen: snapshots that another one loaded are not used.
        cluster: gives the cluster of a side.

    Example:
        ``target.datasets.source()`` is ``"snapshot"`` if an earlier one fills every side.
    """

    spec: ReportSpec
    plan: Plan
    state: Path
    access: Access
    region: str
    client: str | None
    cluster: Callable[[Side], BaseCluster]

    def source(self) -> Source:
        """Whether datasets are restored or loaded; only :meth:`load_instead` changes it.

        Raises:
            TargetError: S3 does not answer, or refuses.
        """
        decided = self.state / SOURCE_FILE
        if not decided.exists():
            write_file(decided, self._decide())
        text = decided.read_text(encoding="utf-8")
        return next((source for source in get_args(Source) if source == text), "load")

    def are_kept(self) -> bool:
        """Whether every side has a complete snapshot that can be restored into it.

        Raises:
            TargetError: S3 does not answer, or refuses.
        """
        return all(self.keeps(side) for side in self._sides) and all(
            self._note_for(side) is not None for side in self._sides
        )

    def keeps(self, side: Side) -> bool:
        """Whether the engine can save and restore the dataset of a side's version."""
        version = self.plan.sides[side].version
        return engines.cluster_of(self.plan.engine).no_dataset_snapshots(version) is None

    def sides_to_load(self) -> Sequence[Side]:
        """The sides that the client has to load: of sides that share a dataset, the oldest."""
        if self.source() == "load":
            return self._sides
        return [side for side in self._sides if self._takes_it(side) and self._held(side) is None]

    def save(self, side: Side) -> None:
        """Back up what the client loaded on a side, so that all sides can be restored from it.

        Raises:
            EngineError: it cannot be written.
        """
        dataset = self.place(side)
        url = dataset.fresh_place(self.state.name)
        self.cluster(side).save_dataset(url, self.region)
        note = {
            "url": url,
            "checksum": None,
            "version": self.plan.sides[side].version,
            "campaign": self.state.name,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "client_program": self.client,
        }
        self._hold(side, {**note, _OWN: True})

    def load_instead(self) -> None:
        """From now on the client loads all sides, because a dataset could not be backed up."""
        write_file(self.state / SOURCE_FILE, "load")

    def restore(self, side: Side) -> None:
        """Fill a side's running database from its dataset snapshot.

        A side that the client loaded is deployed anew first: dropped tables would stay on its
        disks, and be removed in the middle of the trials.

        Raises:
            EngineError: it cannot be restored.
            TargetError: it is not known where the snapshot is.
        """
        if (note := self._held(side)) is None:
            raise TargetError(
                f"{side}: {self.place(side).note} was not read when the campaign began; start "
                "another campaign, which will restore or load the dataset"
            )
        cluster = self.cluster(side)
        if _OWN in note and self._takes_it(side):
            cluster.deploy()
        cluster.load_dataset(note["url"], self.region)

    def keep(self, side: Side, checksum: str) -> str | None:
        """Check a restored dataset; if this campaign backed it up, keep it for later campaigns.

        Args:
            checksum: that of the side's dataset; see :meth:`Database.checksum`.

        Returns:
            Why the dataset could not be kept, which does not stop the campaign; None if it was
            kept, or did not have to be.

        Raises:
            TargetError: a restored dataset has another checksum than the one that was kept.
        """
        if self.source() == "load" or (note := self._held(side)) is None:
            return None
        dataset, rows = self.place(side), rows_of(checksum)
        if note["checksum"] is None:
            note["checksum"] = rows
            self._hold(side, note)
        if note["checksum"] != rows:
            raise TargetError(
                f"{side}: what was restored from {note['url']} has other rows than "
                f"{dataset.note} notes, by which the other side is checked as well: "
                f"{_differences(rows, note['checksum'])}; delete both, and the dataset is loaded "
                "and kept again"
            )
        if note.get(_OWN):
            try:
                dataset.write_note({key: text for key, text in note.items() if key != _OWN})
            except BenchlabError as error:  # the other side tries it again
                return f"{side}: the dataset is not kept for later campaigns: {error}"
            self._hold(side, {**note, _OWN: False})
        return None

    def place(self, side: Side) -> DatasetSnapshot:
        """Where a side's dataset is, or would be; another client generates different rows."""
        workload, spec = workloads.workload_of(self.spec), self.spec
        programs = [program.name for program in workload.PROGRAMS]
        client = self.client or spec.client.program or programs[0]
        contents = {
            "generation": GENERATION,
            "dataset": spec.dataset.model_dump(),
            "stored_as": engines.cluster_of(self.plan.engine).stored_as(self.plan.sides[side]),
            **({"client_program": client} if len(programs) > 1 else {}),
            **({"client": spec.client.choices} if spec.client.choices else {}),
        }
        digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:12]
        family = workload.__name__.rpartition(".")[2]
        url = f"{(spec.snapshots or '').rstrip('/')}/{family}/dataset-{digest}"
        return DatasetSnapshot(url, self.access, self.region)

    @property
    def _sides(self) -> Sequence[Side]:
        return self.spec.measured_sides

    def _decide(self) -> Source:
        if not all(self.keeps(side) for side in self._sides):
            return "load"
        notes = {side: self._note_for(side) for side in self._sides}
        for side, note in notes.items():
            if note is not None:
                self._hold(side, note)
        return "snapshot" if None not in notes.values() else "new snapshot"

    def _oldest(self, side: Side) -> Side:
        """Of the sides that share a side's dataset, the one of the oldest version."""
        url = self.place(side).url
        alike = [other for other in self._sides if self.place(other).url == url]
        return min(alike, key=lambda other: _age(self.plan.sides[other].version))

    def _takes_it(self, side: Side) -> bool:
        """Whether this side is the one that loads its dataset for all that share it."""
        return self._oldest(side) == side

    def _note_for(self, side: Side) -> dict[str, Any] | None:
        """The note of a side's dataset; None if there is none, or it is too new for a side."""
        note, oldest = self.place(side).read_note(), self._oldest(side)
        too_new = note and _age(note["version"]) > _age(self.plan.sides[oldest].version)
        return None if too_new else note

    def _hold(self, side: Side, note: dict[str, Any]) -> None:
        """Remember a note, so that all sides use the same one, whatever later campaigns write."""
        write_file(self._held_file(side), json.dumps(note, indent=1))

    def _held(self, side: Side) -> dict[str, Any] | None:
        file = self._held_file(side)
        held: dict[str, Any] | None = json.loads(file.read_text("utf-8")) if file.exists() else None
        return held

    def _held_file(self, side: Side) -> Path:
        return self.state / f"{self.place(side).url.rpartition('/')[2]}.json"


def _age(version: str) -> tuple[bool, tuple[tuple[int, ...], bool, str]]:
    """A sort key for versions, the oldest first; one without a number counts as the newest.

    Example:
        ``min("v6.5.0", "v6.1.7", key=_age)`` is ``"v6.1.7"``.
    """
    return re.match(r"v?\d", version) is None, versions.order(version)


def _differences(found: str, noted: str) -> str:
    """The tables in which two checksums differ, for people."""
    one, other = (dict(part.split(":", 1) for part in text.split()) for text in (found, noted))
    return "; ".join(
        f"{table} has {one.get(table, 'no rows')} instead of {other.get(table, 'no rows')}"
        for table in sorted(one.keys() | other.keys())
        if one.get(table) != other.get(table)
    )
