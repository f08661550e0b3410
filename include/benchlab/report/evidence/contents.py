"""What a bundle holds about a campaign, as files, and how it is read back.

| file | holds |
|---|---|
| ``report/...`` | the report as published |
| ``campaign.json`` | the campaign's row: plan, report type as run, environment, sides' facts |
| ``trials.json`` | its trials' rows with samples, gates and host figures |
| ``raw/...`` | raw output, series and host samples, under their names in the object store |
| ``gates/*.yaml`` | the definitions of the gates |
| ``calibration/<id>.json`` | an A/A campaign that calibrates the verdicts, with its trials |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates.gates import Gate
from benchlab.errors import EvidenceError, SpecError, StoreError, meaning_of
from benchlab.plan.documents import from_yaml
from benchlab.report.evidence import archive, document, manifest
from benchlab.report.evidence.archive import FaultyFileError
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.redaction import Redacted, leaks
from benchlab.results.store import Store

CAMPAIGN, TRIALS = "campaign.json", "trials.json"
REPORT, RAW, GATES, CALIBRATION = "report/", "raw/", "gates/", "calibration/"
# Of all definitions together: YAML takes a thousand times its size while it is read.
MAX_GATES_BYTES = 64 * 1024


@dataclass(frozen=True)
class Measured:
    """A campaign with its trials."""

    campaign: Campaign
    trials: tuple[TrialResult, ...]


def make(
    store: Store,
    campaign: str,
    report_files: Mapping[str, bytes],
    *,
    gates: Path,
    calibration: Sequence[str] = (),
    secrets: Iterable[str] = (),
) -> bytes:
    """The evidence bundle of a campaign, as a ZIP archive. The same arguments give the same bytes.

    Args:
        report_files: the report as it is published, by relative path.
        gates: the directory of the gates' definitions.
        calibration: ids of the A/A campaigns that the report's verdicts rest on
            (``Comparison.calibration.campaigns``).
        secrets: texts that must not be in any file, such as the campaign's password.

    Example:
        ``make(store, "c1", report_files, gates=home.configs / "quality")``

    Raises:
        StoreError: the store has no such campaign.
        EvidenceError: a secret is in one of the files, or a file is larger than what is read.
    """
    redacted, missing = Redacted(), dict[str, str]()
    trials = store.trials(campaign)
    documents = {
        CAMPAIGN: _dumped(Campaign, store.campaign(campaign)),
        TRIALS: _dumped(tuple[TrialResult, ...], tuple(trials)),
    }
    for known in calibration:
        measured = Measured(store.campaign(known), tuple(store.trials(known)))
        documents[f"{CALIBRATION}{known}.json"] = _dumped(Measured, measured)
    files = {f"{REPORT}{name}": content for name, content in report_files.items()}
    for name, made in documents.items():
        text = json.dumps(
            redacted.document(name, made), indent=1, ensure_ascii=False, allow_nan=False
        )
        files[name] = f"{text}\n".encode()
    for name in objects(trials):
        try:
            content = store.read_bytes(name)
            content.decode()  # a damaged one is missing, with the reason
            files[f"{RAW}{name}"] = content
        except (StoreError, UnicodeDecodeError) as error:
            missing[f"{RAW}{name}"] = _why(error)
    for path in sorted(gates.glob("*.yaml")):
        files[f"{GATES}{path.name}"] = path.read_bytes()
    _refuse_secrets(files, (*secrets, *redacted.secrets))
    files[manifest.NAME] = manifest.make(campaign, files, missing=missing, redacted=redacted.places)
    return archive.pack(files)


class Bundle:
    """The files of a bundle whose hashes are right; ``missing``: by name, why one is not there."""

    def __init__(self, opened: archive.Archive, said: manifest.Manifest) -> None:
        self._opened, self.manifest = opened, said
        self.missing = {missing.file: missing.reason for missing in said.missing}

    def read(self, name: str) -> bytes:
        """A file's content; raises :class:`FaultyFileError` if it is not there or unreadable."""
        if name not in self.manifest.files:
            raise FaultyFileError(name, "not in the bundle")
        return archive.read(self._opened, name)

    def text(self, name: str) -> str:
        """As :meth:`read`, as text; raises :class:`FaultyFileError` also if it is not UTF-8."""
        try:
            return self.read(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise FaultyFileError(name, f"not a text in UTF-8: {error}") from error

    def names(self, prefix: str) -> list[str]:
        """Of the files of a directory."""
        return [name for name in self.manifest.files if name.startswith(prefix)]

    def measured(self) -> Measured:
        """The campaign with its trials.

        Raises:
            FaultyFileError: a document cannot be read, or is not what it should be.
        """
        campaign = document.validated(CAMPAIGN, Campaign, self._parsed(CAMPAIGN))
        _refuse_senseless(CAMPAIGN, campaign)
        trials = document.validated(TRIALS, tuple[TrialResult, ...], self._parsed(TRIALS))
        return Measured(campaign, trials)

    def calibration(self) -> Iterator[tuple[str, Measured]]:
        """The A/A campaigns, each with the name of its file; one at a time, as each takes memory.

        Raises:
            FaultyFileError: a document cannot be read, or is not what it should be.
        """
        for name in self.names(CALIBRATION):
            measured = document.validated(name, Measured, self._parsed(name))
            _refuse_senseless(name, measured.campaign)
            yield name, measured

    def gates(self) -> tuple[Gate, ...]:
        """The definitions of the gates.

        Raises:
            FaultyFileError: they cannot be read, or two files have a gate of one id.
        """
        names = self.names(GATES)
        if (size := sum(self.manifest.files[name].size for name in names)) > MAX_GATES_BYTES:
            raise FaultyFileError(GATES, f"{size} bytes; at most {MAX_GATES_BYTES} are read")
        files = {name: self._gates_of(name) for name in names}
        try:
            return quality.joined(files)
        except SpecError as error:
            # The text begins with the name of the file whose gate is also in another one.
            name = next((file for file in files if str(error).startswith(f"{file}: ")), GATES)
            raise _faulty(name, error) from error

    def _parsed(self, name: str) -> Any:
        return document.parsed(name, self.read(name))

    def _gates_of(self, name: str) -> tuple[Gate, ...]:
        try:
            return quality.parse(from_yaml(self.text(name), name), name)
        except SpecError as error:
            raise _faulty(name, error) from error


def objects(trials: Iterable[TrialResult]) -> Iterator[str]:
    """The names of the trials' objects in the store: raw outputs, series, host samples."""
    for trial in trials:
        yield from (name for name in (trial.raw, trial.series, trial.hosts) if name is not None)


def _faulty(name: str, error: SpecError) -> FaultyFileError:
    return FaultyFileError(name, str(error).removeprefix(f"{name}: "))


def _why(error: Exception) -> str:
    """Why an object is not there, without its place in the store."""
    cause = error.__cause__
    if isinstance(cause, OSError):
        return f"the object store does not have it: {meaning_of(cause)}"
    return "what the object store has is not a text in UTF-8"


def _refuse_secrets(files: Mapping[str, bytes], secrets: Sequence[str]) -> None:
    for name, content in files.items():
        if leaks(content, secrets):
            raise EvidenceError(
                f"evidence bundle: {name}: has a password or key of a server in it; no bundle is "
                "made. Find the text that has it (a raw output, the reason of a trial) and keep it "
                "from there"
            )


def _dumped(kind: Any, value: object) -> Any:
    return _adapter(kind).dump_python(value, mode="json", by_alias=True)


@cache  # made where it is first needed, because that takes a while
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _refuse_senseless(name: str, campaign: Campaign) -> None:
    """Refuse more rounds than trials: each takes memory, and a forger can write any number."""
    rounds, trials = campaign.plan.rounds, len(campaign.plan.trials)
    if not 0 < rounds <= trials:
        raise FaultyFileError(name, f"plan: {rounds} rounds, with {trials} trials in them")
