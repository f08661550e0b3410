"""Publishes a campaign's report to all its destinations, and records where it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from benchlab.errors import BenchlabError, PublishError, naming
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish.publisher import BasePublisher, Publication

# The evidence bundle beside the report; also the key of the fault that says why there is none.
EVIDENCE = "evidence.zip"

# Reports progress: a phase such as "published", and a note.
Say = Callable[[str, str], None]


class _Recorded(BaseModel):
    """The contents of the file of a :class:`PublicationRecord`."""

    edition: str | None = None
    addresses: dict[str, str] = {}
    faults: dict[str, str] = {}
    instead: tuple[Destination, ...] | None = None


class PublicationRecord:
    """Records where the latest edition of a campaign's report is, in a small JSON file.

    >>> PublicationRecord(home.campaign("c1") / "published").addresses()
    {'files': '/reports/c1/report.html'}
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def addresses(self) -> dict[str, str]:
        """The addresses of the main page, by place; empty if it is not published."""
        return self._read().addresses

    def faults(self) -> dict[str, str]:
        """Why publishing failed, by place; under :data:`EVIDENCE`, why there is no evidence."""
        return self._read().faults

    def instead(self) -> tuple[Destination, ...] | None:
        """The destinations that replace the report type's; None: none do."""
        return self._read().instead

    def begin(
        self, edition: str, places: Collection[str], instead: Sequence[Destination] | None = None
    ) -> None:
        """Record that an edition is being published; another one's addresses are dropped.

        Args:
            places: where it is to go; faults of other places are dropped.
            instead: the destinations that replace the report type's.
        """
        known = self._read()
        if known.edition != edition:
            known = _Recorded(edition=edition)
        known.faults = {at: why for at, why in known.faults.items() if at in places}
        known.instead = None if instead is None else tuple(instead)
        self._write(known)

    def add(self, place: str, address: str) -> None:
        """Record that the edition is at a place, under this address."""
        known = self._read()
        known.faults.pop(place, None)
        known.addresses[place] = address
        self._write(known)

    def fail(self, place: str, why: str) -> None:
        """Record why publishing to a place failed; an earlier address there is kept."""
        known = self._read()
        known.faults[place] = why
        self._write(known)

    def forget(self) -> None:
        """Delete the record, because the campaign is measured again."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> _Recorded:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return _Recorded.model_validate(json.loads(text or "{}"))

    def _write(self, known: _Recorded) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        # Pydantic's own JSON fails on paths that are not UTF-8.
        with naming(self.path):
            part.write_text(json.dumps(known.model_dump(), indent=1), encoding="utf-8")
        part.replace(self.path)


def publish_everywhere(
    publication: Publication,
    publishers: Sequence[BasePublisher],
    record: PublicationRecord,
    say: Say,
    again: str,
    without_evidence: str | None = None,
) -> None:
    """Publish a report to all its places, one after the other; a failure does not stop the rest.

    Args:
        record: one in which this edition was begun (:meth:`PublicationRecord.begin`).
        say: is called with ``published`` and an address, or ``failed`` and why.
        again: the command that repeats what failed.
        without_evidence: why the report has no evidence; None if it has.

    Raises:
        PublishError: not everything was published; says what, why, and how to repeat it.
    """
    faults: dict[str, str] = {}
    if without_evidence is not None:
        faults[EVIDENCE] = without_evidence
        record.fail(EVIDENCE, without_evidence)
    for publisher in publishers:
        try:
            address = publisher.publish(publication)
        except BenchlabError as error:
            faults[publisher.place] = str(error)
            record.fail(publisher.place, str(error))
            say("failed", f"{publisher.place}: {error}")
        else:
            record.add(publisher.place, address)
            say("published", address)
    if faults:
        raise PublishError(unpublished(record.addresses(), faults, again))


def unpublished(addresses: Mapping[str, str], faults: Mapping[str, str], again: str) -> str:
    """Say what failed in publishing a report, where the report is, and what to do.

    Args:
        addresses, faults: those of a :class:`PublicationRecord`.
        again: the command that repeats what failed.
    """
    lines = []
    for place, why in faults.items():
        if place == EVIDENCE:
            lines.append(f"the report is without {EVIDENCE}: {why}")
        elif place in addresses:
            lines.append(
                f"the report could not be renewed at {place}, where the same edition was: {why}"
            )
        else:
            lines.append(f"the report is not published to {place}: {why}")
    at = [address for place, address in addresses.items() if place not in faults]
    there = [f"it is at {', '.join(at)}"] if at else [] if addresses else ["it is nowhere yet"]
    return "\n".join([*lines, "; ".join([*there, f"`{again}` repeats what failed"])])


def publish_command(
    campaign: str, only: str | None = None, instead: Sequence[Destination] | None = None
) -> str:
    """The command line that publishes a campaign.

    >>> publish_command("c1", only="s3")
    'benchlab publish c1 --to s3'

    Args:
        only: the publisher to restrict it to, beside ``files``.
        instead: destinations that replace the report type's.
    """
    words = ["benchlab", "publish", campaign]
    if only is not None:
        words += ["--to", only]
    if instead is not None:
        words += ["--set", f"publish={json.dumps([other.model_dump() for other in instead])}"]
    return shlex.join(words)
