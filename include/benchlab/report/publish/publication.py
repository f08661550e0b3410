"""A report that is to be published, with what a list of reports says about it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

DIGEST_LENGTH = 12


@dataclass(frozen=True)
class Publication:
    """A campaign's report, and what a list of reports says of it.

    Attributes:
        campaign: its id.
        report: its report type.
        title: for people.
        versions: of the sides, the baseline first.
        started_at: when the campaign began, with its time zone.
        state: ``complete`` or ``failed``.
        aa: whether both sides are the same, so that a change would be a false alarm.
        verdicts: on the throughput, by workload.
        pages: the path of the main page, by the code of its language; the first comes first.
        files: the whole report as bytes, by relative path.
        lacks: files or directories that other reports have and this one has not; those of an
            earlier report are not about this one.
    """

    campaign: str
    report: str
    title: str
    versions: tuple[str, ...]
    started_at: datetime
    state: str
    aa: bool
    verdicts: Mapping[str, str]
    pages: Mapping[str, str]
    files: Mapping[str, bytes]
    lacks: tuple[str, ...] = ()

    @functools.cached_property
    def edition(self) -> str:
        """Names these files: twelve hexadecimal digits, others for any other name or byte."""
        digest = hashlib.sha256()
        for name in sorted(self.files):
            digest.update(hashlib.sha256(name.encode()).digest())
            digest.update(hashlib.sha256(self.files[name]).digest())
        return digest.hexdigest()[:DIGEST_LENGTH]

    @property
    def main_page(self) -> str:
        """The page to begin with, in the first language."""
        return next(iter(self.pages.values()))
