"""Verify a bundle: is it as it was made, and does all of it follow from the raw outputs?

Nothing is read but the bundle: no store, no configuration, no network. Nothing is recomputed from
a bundle that was changed.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict import aa_campaigns, compare, usable_trials
from benchlab.analysis.verdict.calibration_checks import round_means
from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.estimates import calibrate
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.errors import EvidenceError, meaning_of
from benchlab.report import bundle as report_bundle
from benchlab.report.evidence import contents, documents
from benchlab.report.evidence.contents import (
    CALIBRATION,
    CAMPAIGN,
    GATES,
    MANIFEST,
    RAW,
    REPORT,
    TRIALS,
    UNREADABLE,
    Bundle,
    Measured,
    objects,
)
from benchlab.report.evidence.documents import ABSENT
from benchlab.report.evidence.trials import Recomputation, named
from benchlab.report.evidence.verification import Verification
from benchlab.results.records import TrialResult, inconsistencies


def verify(path: Path) -> Verification:
    """Verify a bundle.

    >>> verify(Path("reports/c1/evidence.zip")).outcome
    'holds'

    Raises:
        EvidenceError: there is no such file, or it cannot be opened.
    """
    found = Verification(str(path))
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        why = f"{meaning_of(error)}; give the evidence.zip of a report"
        raise EvidenceError(f"{path}: cannot be read: {why}") from error
    except UNREADABLE:
        found.differs(path.name, "no ZIP archive, or its end is damaged")
        return found
    with archive, found.reading(path.name):
        _verify(Bundle(archive), found)
    return found


def _verify(bundle: Bundle, found: Verification) -> None:
    said = bundle.manifest
    found.campaign, found.made_with = said.campaign, said.made_with.get("benchlab")
    _compare_hashes(bundle, found)
    if found.differences:
        found.not_recomputed.append(
            "its figures: nothing is recomputed from a bundle that is not as it was made"
        )
        return
    own, gates = bundle.measured(), bundle.gates()
    known = {CAMPAIGN, TRIALS, *(f"{RAW}{name}" for name in objects(own.trials))}
    for name in said.files:
        if name not in known and not name.startswith((REPORT, GATES, CALIBRATION)):
            found.differs(name, "nothing in the bundle names it")
    found.compare(CAMPAIGN, own.campaign.id, said.campaign, "id")
    trials = _trials(bundle, own, gates, found)
    with found.reading(CAMPAIGN):
        again = report_bundle.make(
            own.campaign,
            _comparison(bundle, own, trials, gates, found),
            trials,
            own.campaign.report_type.languages,
            read_object=lambda name: bundle.read(f"{RAW}{name}"),
            validation=bundle.validation(),
        )
        _compare_report(bundle, again, found)


def _compare_hashes(bundle: Bundle, found: Verification) -> None:
    """Note files that are missing, were added or do not have their hash."""
    files = bundle.manifest.files
    expected = files.keys() | {MANIFEST}
    for name, count in bundle.names.items():
        if count > 1:
            found.differs(name, "it is in the archive twice")
        if name not in expected:
            found.differs(name, "not in the manifest: it was added")
    for name, digest in files.items():
        with found.reading(name):
            again = hashlib.sha256(bundle.read(name)).hexdigest()
            found.checked["files"] += 1
            if again != digest:
                found.differs(name, f"changed: its SHA-256 is {again}, by the manifest {digest}")


def _trials(
    bundle: Bundle, own: Measured, gates: Sequence[Gate], found: Verification
) -> list[TrialResult]:
    """The trials, computed again."""
    work = Recomputation(bundle, own.campaign, gates, found)
    again: dict[str, TrialResult | None] = {}
    for stored in own.trials:
        name = named(stored)
        if name in again:
            found.differs(TRIALS, "it occurs twice", name)
            continue
        again[name] = None
        with found.reading(TRIALS, name):
            again[name] = work.trial(stored)
    return [trial for trial in again.values() if trial is not None]


def _comparison(
    bundle: Bundle,
    own: Measured,
    trials: Sequence[TrialResult],
    gates: Sequence[Gate],
    found: Verification,
) -> Comparison:
    """The comparison of the sides, with the A/A campaigns of the bundle that may count."""
    counted: list[tuple[Measured, list[Rounds]]] = []
    for file in bundle.within(CALIBRATION):
        with found.reading(file):
            other = bundle.measured(file)
            if fault := _calibration_fault(file, own, other):
                found.differs(file, fault)
            else:
                used, _ = usable_trials.usable_trials(other.campaign.plan, other.trials)
                counted.append((other, compare.rounds_of(other.campaign.plan, used)))
    if counted:
        found.checked["A/A campaigns"] = len(counted)
        found.not_recomputed.append(
            f"the samples of {len(counted)} A/A campaigns: their raw outputs are not in the bundle"
        )
    counted.sort(key=lambda one: (one[0].campaign.started_at, one[0].campaign.id))
    return compare.compare(
        own.campaign.plan,
        trials,
        own.campaign.report_type.threshold_pct,
        inconsistencies(own.campaign.facts),
        gates=gates,
        calibration=calibrate({other.campaign.id: rounds for other, rounds in counted}),
        started_at=own.campaign.started_at,
        aa_campaigns={other.campaign.started_at: round_means(rounds) for other, rounds in counted},
    )


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


def _compare_report(bundle: Bundle, again: Mapping[str, bytes], found: Verification) -> None:
    """Note where the published files differ from those that were made again.

    Another Benchlab may word or draw pages otherwise, and write other figures: what is unlike is
    then not verified, except a figure that both wrote. Which Benchlab it was is in the manifest,
    where a forger can write anything.
    """
    same = bundle.manifest.made_with == contents.made_with()
    for file in sorted({*bundle.within(REPORT), *(f"{REPORT}{name}" for name in again)}):
        with found.reading(file):
            kept = bundle.read(file) if file in bundle.names else None
            unlike = _unlike(file, kept, again.get(file.removeprefix(REPORT)))
            found.checked["report files"] += not unlike
            figures = file.endswith((".json", ".csv"))
            for place, ours, theirs in unlike:
                if same or (figures and ABSENT not in (ours, theirs)):
                    found.unlike(file, ours, theirs, place)
                else:
                    where = f"{file}: {place}" if place else file
                    by = f"another Benchlab ({found.made_with})"
                    found.cannot_verify(f"{where}: {by} wrote it otherwise than this one does")


def _unlike(file: str, kept: bytes | None, made: bytes | None) -> list[tuple[str, Any, Any]]:
    if kept == made:
        return []
    one, other = (ABSENT if it is None else documents.read(file, it) for it in (kept, made))
    return list(documents.differences(one, other))
