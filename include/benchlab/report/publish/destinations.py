"""Publishes a campaign's report to all its destinations, and records where it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from benchlab.errors import BenchlabError, PublishError
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish.publisher import BasePublisher, Publication

# The evidence bundle beside the report; as a key of the faults, why there is none.
EVIDENCE = "evidence.zip"

# Takes the phase of a step, and a note.
Say = Callable[[str, str], None]


class _Recorded(BaseModel):
    """The file of a :class:`PublicationRecord`, as JSON."""

    edition: str | None = None
    addresses: dict[str, str] = {}
    faults: dict[str, str] = {}
    instead: tuple[Destination, ...] | None = None


class PublicationRecord:
    """Where the latest edition of a campaign's report is: a small file, rewritten each time.

    >>> PublicationRecord(home.campaign("c1") / "published").addresses()
    {'files': '/reports/c1/report.html'}
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def addresses(self) -> dict[str, str]:
        """The address of its main page, by place; empty: it is nowhere."""
        return self._read().addresses

    def faults(self) -> dict[str, str]:
        """Why it could not be published, by place; and why it is without evidence."""
        return self._read().faults

    def instead(self) -> tuple[Destination, ...] | None:
        """The destinations that replace the report type's; None: none do."""
        return self._read().instead

    def begin(
        self, edition: str, places: Collection[str], instead: Sequence[Destination] | None = None
    ) -> None:
        """Record that an edition is being published; addresses of another one are forgotten.

        Args:
            places: where it is to be; faults of other places are forgotten.
        """
        known = self._read()
        if known.edition != edition:
            known = _Recorded(edition=edition)
        known.faults = {at: why for at, why in known.faults.items() if at in places}
        known.instead = None if instead is None else tuple(instead)
        self._write(known)

    def add(self, place: str, address: str) -> None:
        """Record that it is at a place, under this address."""
        known = self._read()
        known.faults.pop(place, None)
        known.addresses[place] = address
        self._write(known)

    def fail(self, place: str, why: str) -> None:
        """Record that it could not be brought to a place; an address before stays."""
        known = self._read()
        known.faults[place] = why
        self._write(known)

    def forget(self) -> None:
        """Record that it is nowhere, as the campaign is measured again."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> _Recorded:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return _Recorded.model_validate(json.loads(text or "{}"))

    def _write(self, known: _Recorded) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        # Pydantic's own JSON has no form for the bytes of a path that are no text.
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
    """Bring a report to all its places, one after the other; all are tried even if one fails.

    Args:
        record: where it was recorded that this edition is being published.
        without_evidence: why the report has no evidence; None: it has.

    Raises:
        PublishError: names the places that do not have it, and why; why it is without evidence;
            and how to repeat it.
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
    """The sentences of a report that is not whole everywhere: what failed, where it is, what to do.

    Addresses and faults are those of a :class:`PublicationRecord`; ``again`` repeats it.
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

    ``only``: beside files, only the destinations of this publisher; ``instead``: others than the
    report type's.
    """
    words = ["benchlab", "publish", campaign]
    if only is not None:
        words += ["--to", only]
    if instead is not None:
        words += ["--set", f"publish={json.dumps([other.model_dump() for other in instead])}"]
    return shlex.join(words)
