"""The files of an evidence bundle: writes and reads them.

| file | contents |
|---|---|
| ``report/...`` | the report as published |
| ``campaign.json`` | the campaign's row: plan, report type as run, environment, sides' facts |
| ``trials.json`` | the trials' rows with samples, gates and host figures |
| ``raw/...`` | raw output, series, host samples and counts, named as in the object store; what
diagnosis trials found |
| ``gates/*.yaml`` | the definitions of the gates |
| ``calibration/<id>.json`` | another campaign that the verdicts rest on, with its trials: an A/A
campaign, or, with ``design: watch``, an earlier one of the same report type |
| ``reproduce/...`` | the repro kit: :mod:`benchlab.report.evidence.kit` |
| ``manifest.json`` | the SHA-256 of all other files, and what made them |
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import benchlab
from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.compare import Comparison
from benchlab.errors import EvidenceError, SpecError, StoreError
from benchlab.plan.documents import from_yaml
from benchlab.report.evidence import documents, kit
from benchlab.report.evidence.documents import FaultyFileError
from benchlab.report.model.validation import NAME as VALIDATION
from benchlab.report.model.validation import Validation
from benchlab.results import diagnosis, redaction
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.redaction import Redacted, leaks
from benchlab.results.store import Store

CAMPAIGN, TRIALS, MANIFEST = "campaign.json", "trials.json", "manifest.json"
REPORT, RAW, GATES, CALIBRATION = "report/", "raw/", "gates/", "calibration/"
KIT = "reproduce/"
# The largest files that are read, in bytes. A client may print 256 MiB; parsing takes up to thirty
# times a file's size in memory, and a thousand times for YAML.
_LARGE = 512 * 1024**2
LIMITS = {"raw/*.txt": _LARGE, f"{KIT}*": _LARGE, "gates/*": 64 * 1024, "*": 64 * 1024**2}
# What zipfile raises for archives that are damaged or made to crash their reader.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError),
    *(RuntimeError, OverflowError, MemoryError),
)
# What the text of a report depends on.
_LIBRARIES = ("babel", "fluent.runtime", "jinja2", "numpy", "scipy")
_SOURCE = (".py", ".j2", ".ftl", ".yaml", ".lua", ".cfg", ".css")


@dataclass(frozen=True)
class Manifest:
    """What a bundle says about itself.

    Attributes:
        campaign: its id.
        made_with: versions of Benchlab and its libraries; ``source_sha256``: of Benchlab's files.
        redacted: where a secret was replaced, as ``campaign.json: facts.baseline...``.
        files: the SHA-256 of every other file, by name.
    """

    campaign: str
    made_with: dict[str, str]
    redacted: list[str]
    files: dict[str, str]
    format: Literal[1] = 1


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
    comparison: Comparison | None = None,
    secrets: Iterable[str] = (),
) -> bytes:
    """Make the evidence bundle of a campaign, a ZIP archive; the same arguments, the same bytes.

    Objects that the store has lost are left out, and are later reported as not verified.

    Args:
        report_files: the report as it is published, by relative path.
        gates: the directory of the gates' definitions.
        comparison: that of the report: names the other campaigns that its verdicts rest on, and
            what the repro kit is about; None: neither is in the bundle.
        secrets: texts that must not occur in any file, such as the campaign's password.

    Example:
        ``make(store, "c1", report_files, gates=home.configs / "quality", comparison=compared)``

    Raises:
        StoreError: the store has no such campaign.
        EvidenceError: a file contains a secret, or is larger than what is read back.
    """
    redacted = Redacted()
    trials, made = store.trials(campaign), store.campaign(campaign)
    rows = {
        CAMPAIGN: documents.dumped(Campaign, made),
        TRIALS: documents.dumped(tuple[TrialResult, ...], tuple(trials)),
    }
    for known in (*comparison.calibration.ids, *comparison.weeks) if comparison else ():
        measured = Measured(store.campaign(known), tuple(store.trials(known)))
        rows[f"{CALIBRATION}{known}.json"] = documents.dumped(Measured, measured)
    files = {f"{REPORT}{name}": content for name, content in report_files.items()}
    files |= {name: _json(redacted.document(name, row)) for name, row in rows.items()}
    for name in objects(made, trials):
        with contextlib.suppress(StoreError):
            files[f"{RAW}{name}"] = store.read_bytes(name)
    for path in sorted(gates.glob("*.yaml")):
        files[f"{GATES}{path.name}"] = path.read_bytes()
    if comparison is not None:
        of_kit = redaction.of_campaign(made), trials, comparison, store.read_bytes
        files |= {f"{KIT}{name}": content for name, content in kit.files(*of_kit).items()}
    _refuse_secrets(files, (*secrets, *redacted.secrets))
    return packed(campaign, files, redacted.places)


class Bundle:
    """Reads the files of a bundle; nothing is unpacked to disk, and no name is used as a path.

    Attributes:
        names: how often each file occurs in the archive; it should be once.

    Raises:
        FaultyFileError: the manifest is missing or cannot be read.

    Example:
        ``Bundle(zipfile.ZipFile("evidence.zip")).measured().campaign.id``
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        self.names = Counter(entry.filename for entry in archive.infolist())
        self.manifest: Manifest = self._instance(MANIFEST, Manifest)

    def read(self, name: str) -> bytes:
        """A file's content.

        Raises:
            FaultyFileError: it is missing, larger than any that Benchlab writes, or damaged.
        """
        if (entry := self._entries.get(name)) is None:
            raise FaultyFileError(name, "it is missing")
        if (fault := _size_fault(name, entry.file_size)) is not None:
            raise FaultyFileError(name, fault)
        try:
            return self._archive.read(entry)
        except UNREADABLE as error:
            raise FaultyFileError(name, "damaged: it cannot be unpacked") from error

    def within(self, folder: str) -> list[str]:
        """The names of the files of a folder, such as ``gates/``, by the manifest."""
        return [name for name in self.manifest.files if name.startswith(folder)]

    def measured(self, file: str = "") -> Measured:
        """Read the campaign with its trials; with ``file``, one that its verdicts rest on.

        Raises:
            FaultyFileError: a document cannot be read or is invalid, or the plan has more rounds
                than trials: each round takes memory, and a forger can write any number.
        """
        if file:
            found: Measured = self._instance(file, Measured)
        else:
            trials = self._instance(TRIALS, tuple[TrialResult, ...])
            found = Measured(self._instance(CAMPAIGN, Campaign), trials)
        plan = found.campaign.plan
        if not 0 < plan.rounds <= len(plan.trials):
            fault = f"plan: {plan.rounds} rounds, with {len(plan.trials)} trials in them"
            raise FaultyFileError(file or CAMPAIGN, fault)
        return found

    def gates(self) -> tuple[Gate, ...]:
        """The definitions of the gates.

        Raises:
            FaultyFileError: they cannot be read, or two files define the same id.
        """
        name = GATES
        try:
            files = {}
            for name in self.within(GATES):
                text = documents.text_of(name, self.read(name))
                files[name] = quality.parse(from_yaml(text, name), name)
            return quality.joined(files)
        except SpecError as error:
            raise FaultyFileError(name, str(error).removeprefix(f"{name}: ")) from error

    def validation(self) -> Validation | None:
        """The outcome of the report's validation, which is not repeated; None if it has none."""
        name = f"{REPORT}{VALIDATION}"
        return self._instance(name, Validation) if name in self.manifest.files else None

    def _instance(self, name: str, kind: Any) -> Any:
        return documents.validated(name, kind, self.read(name))


def objects(campaign: Campaign, trials: Iterable[TrialResult]) -> Iterator[str]:
    """The names of objects in the store: the trials' raw outputs, series, host samples and counts.

    Then what diagnosis trials found.
    """
    for trial in trials:
        names = (trial.raw, trial.series, trial.hosts, trial.counts)
        yield from (name for name in names if name is not None)
    if (known := diagnosis.found(campaign.environment)) is not None:
        yield from known.objects()


def packed(campaign: str, files: Mapping[str, bytes], redacted: Iterable[str] = ()) -> bytes:
    """Pack files and their manifest into an archive; the same zlib gives the same bytes."""
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    said = Manifest(campaign, made_with(), sorted(redacted), digests)
    return zipped({**files, MANIFEST: _json(asdict(said))})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a ZIP archive.

    Raises:
        EvidenceError: a file is larger than what is read back.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            if (fault := _size_fault(name, len(files[name]))) is not None:
                raise EvidenceError(f"evidence bundle: {name}: {fault}")
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()


@cache
def made_with() -> dict[str, str]:
    """The versions of Benchlab and its libraries here, with a hash of Benchlab's files."""
    root, digest = Path(benchlab.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.suffix in _SOURCE:
            digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    versions = {name: metadata.version(name) for name in ("benchlab", *_LIBRARIES)}
    return {**versions, "source_sha256": digest.hexdigest()}


def _json(document: Any) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _size_fault(name: str, size: int) -> str | None:
    most = next(most for pattern, most in LIMITS.items() if fnmatch(name, pattern))
    return f"{size} bytes; at most {most} are read" if size > most else None


def _refuse_secrets(files: Mapping[str, bytes], secrets: Sequence[str]) -> None:
    for name, content in files.items():
        if leaks(content, secrets):
            raise EvidenceError(
                f"evidence bundle: {name}: has a password or key of a server in it; no bundle is "
                "made. Find the text that has it (a raw output, the reason of a trial) and keep it "
                "from there"
            )
