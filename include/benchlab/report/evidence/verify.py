"""Verify a bundle: is it as it was made, and does all of it follow from the raw outputs?

Nothing is read but the bundle: no store, no configuration, no network. Nothing is recomputed from
a bundle that was changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import jinja2

from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict import aa_campaigns, compare, usable_trials
from benchlab.analysis.verdict.calibration import Calibration, calibrate
from benchlab.analysis.verdict.calibration_checks import RoundMeans, round_means
from benchlab.errors import BenchlabError
from benchlab.report import bundle as report_bundle
from benchlab.report.evidence import archive, manifest, rendered
from benchlab.report.evidence.archive import Archive, FaultyFileError
from benchlab.report.evidence.contents import (
    CALIBRATION,
    CAMPAIGN,
    GATES,
    RAW,
    REPORT,
    TRIALS,
    Bundle,
    Measured,
    objects,
)
from benchlab.report.evidence.manifest import Content, Manifest
from benchlab.report.evidence.trials import Recomputation, named
from benchlab.report.evidence.verification import Findings, Verification
from benchlab.results.records import TrialResult, inconsistencies

# What the comparison and the templates raise on rows that have the right types but make no sense
# together, which only a forged bundle has.
_SENSELESS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, jinja2.TemplateError, BenchlabError),
)


def verify(path: Path) -> Verification:
    """Verify a bundle.

    >>> verify(Path("reports/c1/evidence.zip")).outcome
    'holds'

    Args:
        path: of the archive, or of the directory into which it was unpacked.

    Raises:
        EvidenceError: there is no such file, or it cannot be opened.
    """
    findings = Findings()
    with archive.open_bundle(path) as opened:
        said = _manifest(opened, path, findings)
        if said is not None:
            _files(opened, said, findings)
            if not findings.differences:  # a file that differs says more than a byte
                with findings.reading():
                    if (altered := opened.altered()) is not None:
                        findings.differs(*altered)
            if not findings.differences:
                recompute(Bundle(opened, said), findings)
            else:
                findings.notes.append(
                    "its figures: nothing is recomputed from a bundle that is not as it was made"
                )
    return Verification(
        bundle=str(path),
        campaign=said.campaign if said else None,
        made_with=said.made_with.get("benchlab") if said else None,
        checked=dict(findings.checked),
        differences=tuple(findings.differences),
        unverified=tuple(findings.unverified),
        not_recomputed=tuple(findings.notes),
    )


def _manifest(opened: Archive, path: Path, findings: Findings) -> Manifest | None:
    for file, fault in opened.faults:
        findings.differs(file, fault)
    if manifest.NAME not in opened.names:
        if not opened.faults:
            findings.differs(manifest.NAME, f"it is missing: {path.name} is no evidence bundle")
        return None
    said: Manifest | None = None
    with findings.reading():
        said = manifest.parse(archive.read(opened, manifest.NAME))
    return said


def _files(opened: Archive, said: Manifest, findings: Findings) -> None:
    """Note files that are missing, were added or do not have their hash."""
    for name in sorted(set(opened.names) - said.files.keys() - {manifest.NAME, manifest.SIGNATURE}):
        findings.differs(name, "not in the manifest: it was added")
    if manifest.SIGNATURE in opened.names:
        findings.notes.append("the signature of its manifest: ssh-keygen -Y verify checks it")
    for name in sorted(said.files.keys() - set(opened.names)):
        findings.differs(archive.shown(name), "missing, though the manifest has it")
    for name in sorted(said.files.keys() & set(opened.names)):
        with findings.reading():
            _file(opened, name, said.files[name], findings)


def _file(opened: Archive, name: str, content: Content, findings: Findings) -> None:
    digest, size = hashlib.sha256(), 0
    for chunk in opened.chunks(name):
        digest.update(chunk)
        size += len(chunk)
    findings.checked["files"] += 1
    if (size, digest.hexdigest()) != (content.size, content.sha256):
        findings.differs(
            name,
            f"changed: {size} bytes with SHA-256 {digest.hexdigest()}, by the manifest "
            f"{content.size} bytes with {content.sha256}",
        )


def recompute(bundle: Bundle, findings: Findings) -> None:
    """Compute everything of a report again, from the raw outputs on, and note what differs."""
    try:
        own = bundle.measured()
        _unnamed(bundle, own, findings)
        campaign = bundle.manifest.campaign
        if own.campaign.id != campaign:
            findings.differs(CAMPAIGN, own.campaign.id, where="id", recomputed=campaign)
        gates = bundle.gates()
    except FaultyFileError as error:
        findings.differs(error.file, error.fault)
        if error.file.startswith(GATES):
            findings.notes.append(
                "its figures: nothing is recomputed without the gates' definitions"
            )
        return
    try:
        with findings.reading():
            trials = _trials(bundle, own, gates, findings)
            _report(bundle, own, trials, gates, findings)
    except _SENSELESS as error:
        findings.differs(
            CAMPAIGN, f"no report can be made from it and its trials: {_senseless(error)}"
        )


def _unnamed(bundle: Bundle, own: Measured, findings: Findings) -> None:
    """Note files that nothing in the bundle names, and missing ones that no trial names."""
    raw = {f"{RAW}{name}" for name in objects(own.trials)}
    for name in bundle.manifest.files:
        is_gates = name.startswith(GATES) and name.endswith(".yaml")
        if name in bundle.missing:
            findings.differs(name, "it is there, and by the manifest it is missing")
        elif name not in {CAMPAIGN, TRIALS} | raw and not (
            is_gates or name.startswith((REPORT, CALIBRATION))
        ):
            findings.differs(name, "nothing in the bundle names it")
    for name in sorted(bundle.missing.keys() - raw - bundle.manifest.files.keys()):
        findings.differs(name, "missing by the manifest, and no trial names it")


def _senseless(error: Exception) -> str:
    return f"{type(error).__name__}: {archive.shown(str(error))}"


def _trials(
    bundle: Bundle, own: Measured, gates: Sequence[Gate], findings: Findings
) -> list[TrialResult]:
    work = Recomputation(bundle, own.campaign, gates, findings)
    seen: set[str] = set()
    found = []
    for stored in own.trials:
        name = named(stored)
        if name in seen:
            findings.differs(TRIALS, "it is there twice", where=name)
            continue
        seen.add(name)
        try:
            again = work.trial(stored)
        except _SENSELESS as error:
            findings.differs(TRIALS, f"it makes no sense: {_senseless(error)}", where=name)
            continue
        if again is not None:
            found.append(again)
    work.note_otherwise_defined()
    return found


def _report(
    bundle: Bundle,
    own: Measured,
    trials: Sequence[TrialResult],
    gates: Sequence[Gate],
    findings: Findings,
) -> None:
    calibration, aa_campaigns = _calibration(bundle, own, findings)
    outcome = compare.compare(
        own.campaign.plan,
        trials,
        own.campaign.report_type.threshold_pct,
        inconsistencies(own.campaign.facts),
        gates=gates,
        calibration=calibration,
        started_at=own.campaign.started_at,
        aa_campaigns=aa_campaigns,
    )
    again = report_bundle.make(
        own.campaign,
        outcome,
        trials,
        own.campaign.report_type.languages,
        read_object=lambda name: bundle.read(f"{RAW}{name}"),
    )
    rendered.compare(bundle, again, findings)


def _calibration(
    bundle: Bundle, own: Measured, findings: Findings
) -> tuple[Calibration, dict[datetime, RoundMeans]]:
    """What the A/A campaigns of the bundle show, and their round means by start; notes those that
    must not count.
    """
    figures, began = {}, {}
    for file, other in bundle.calibration():
        try:
            if (fault := _calibration_fault(file, own, other)) is None:
                used, _ = usable_trials.usable_trials(other.campaign.plan, other.trials)
                figures[other.campaign.id] = compare.rounds_of(other.campaign.plan, used)
                began[other.campaign.id] = other.campaign.started_at
                findings.checked["A/A campaigns"] += 1
        except _SENSELESS as error:
            fault = f"it makes no sense: {_senseless(error)}"
        if fault is not None:
            findings.differs(file, fault)
    if figures:
        findings.notes.append(
            f"the samples of {len(figures)} A/A campaigns: their raw outputs are not in the bundle"
        )
    earliest_first = sorted(figures, key=lambda campaign: (began[campaign], campaign))
    return calibrate({campaign: figures[campaign] for campaign in earliest_first}), {
        began[campaign]: round_means(figures[campaign]) for campaign in earliest_first
    }


def _calibration_fault(file: str, own: Measured, other: Measured) -> str | None:
    """Why an A/A campaign must not count; None: it may."""
    name = other.campaign.id
    if file != f"{CALIBRATION}{name}.json" or name == own.campaign.id:
        return f"it is of {name}"
    if not aa_campaigns.can_calibrate(other.campaign):
        return "no complete A/A campaign of which each side was loaded"
    if unlike := aa_campaigns.differences(own.campaign, other.campaign):
        return f"of another setting: {', '.join(unlike)}"
    return None
