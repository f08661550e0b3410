"""Bringing a campaign's report to all its destinations, and remembering where it is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchlab.errors import BenchlabError, PublishError
from benchlab.plan.report_type import Destination
from benchlab.report.publish.publication import Publication
from benchlab.report.publish.publisher import BasePublisher

# The evidence bundle beside the report; among the faults: why there is none.
EVIDENCE = "evidence.zip"

# Phase and note of a step.
Say = Callable[[str, str], None]


class PublicationRecord:
    """Where a campaign's report is as it was rendered last: a small file, written anew each time.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def addresses(self) -> dict[str, str]:
        """The address of its main page, by place; none: it is nowhere."""
        return dict(self._read().get("addresses", {}))

    def faults(self) -> dict[str, str]:
        """Why it could not be published at last, by place; and why it is without evidence."""
        return dict(self._read().get("faults", {}))

    def instead(self) -> tuple[Destination, ...] | None:
        """To where it is published instead of to the report type's destinations; None: to these."""
        told = self._read().get("instead")
        return None if told is None else tuple(map(Destination.model_validate, told))

    def begin(
        self, edition: str, places: Collection[str], instead: Sequence[Destination] | None = None
    ) -> None:
        """What is published from here on is this edition; where another one is, it is not.

        Args:
            edition: see :attr:`Publication.edition`.
            places: where it is to be; what hindered it elsewhere is of no interest any more.
            instead: see :meth:`instead`.
        """
        told = self._read()
        known = told if told.get("edition") == edition else {"addresses": {}, "faults": {}}
        self._write(
            {
                "edition": edition,
                "addresses": known["addresses"],
                "faults": {at: why for at, why in known["faults"].items() if at in places},
                "instead": None if instead is None else [each.model_dump() for each in instead],
            }
        )

    def add(self, place: str, address: str) -> None:
        """It is there."""
        told = self._read()
        told["faults"].pop(place, None)
        self._write({**told, "addresses": {**told["addresses"], place: address}})

    def fail(self, place: str, why: str) -> None:
        """It could not be brought there; whatever of it was there is there still."""
        told = self._read()
        self._write({**told, "faults": {**told["faults"], place: why}})

    def forget(self) -> None:
        """It is nowhere: the campaign is measured again."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        told: dict[str, Any] = json.loads(text) if text else {}
        return told

    def _write(self, told: Mapping[str, Any]) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_text(json.dumps(told, indent=1), encoding="utf-8")
        part.replace(self.path)


def publish_everywhere(
    publication: Publication,
    publishers: Sequence[BasePublisher],
    record: PublicationRecord,
    say: Say,
    again: str,
    without_evidence: str | None = None,
) -> None:
    """Bring a report everywhere, one place after the other; all are tried though one fails.

    Args:
        publication: the report.
        publishers: of the places.
        record: has begun with this edition.
        say: is told of each place.
        again: the command that repeats it.
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
            continue
        record.add(publisher.place, address)
        say("published", address)
    if faults:
        raise PublishError(unpublished(record.addresses(), faults, again))


def unpublished(addresses: Mapping[str, str], faults: Mapping[str, str], again: str) -> str:
    """The sentences of a report that is not whole everywhere: what failed, where it is, what to do.

    Args:
        addresses: where it is, by place.
        faults: see :meth:`PublicationRecord.faults`.
        again: the command that repeats it.
    """
    at = [address for place, address in addresses.items() if place not in faults]
    there = [f"it is at {', '.join(at)}"] if at else [] if addresses else ["it is nowhere yet"]
    return "\n".join(
        [
            *(_failed(place, why, place in addresses) for place, why in faults.items()),
            "; ".join([*there, f"`{again}` repeats what failed"]),
        ]
    )


def _failed(place: str, why: str, before: bool) -> str:
    if place == EVIDENCE:
        return f"the report is without {EVIDENCE}: {why}"
    if before:
        return f"the report could not be renewed at {place}, where the same edition was: {why}"
    return f"the report is not published to {place}: {why}"


def publish_command(
    campaign: str, only: str | None = None, instead: Sequence[Destination] | None = None
) -> str:
    """The command line that publishes a campaign.

    Args:
        campaign: its id.
        only: beside files, only the destinations of this publisher.
        instead: other destinations than the report type's.
    """
    words = ["benchlab", "publish", campaign]
    if only is not None:
        words += ["--to", only]
    if instead is not None:
        words += ["--set", f"publish={json.dumps([each.model_dump() for each in instead])}"]
    return shlex.join(words)
