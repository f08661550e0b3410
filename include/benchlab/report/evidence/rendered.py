"""Compares the published files of a report with those rendered again from the bundle."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from benchlab.analysis.verdict.decision import RULE
from benchlab.report.evidence.archive import FaultyFileError
from benchlab.report.evidence.contents import RAW, REPORT, Bundle
from benchlab.report.evidence.document import parsed
from benchlab.report.evidence.manifest import MADE_BY, Manifest
from benchlab.report.evidence.trials import first_difference
from benchlab.report.evidence.verification import RELATIVE, Findings

FIGURES = "report.json"
# What every Benchlab writes into a report: its files, by the last part of their names; keys of
# report.json, wherever this Benchlab writes them; and columns of its tables. A report that lacks
# one of them differs.
_FILES = {FIGURES, "comparison.csv", "trials.csv", "report.md", "report.html"}
_KEYS = {
    *("campaign", "sides", "baseline", "candidate", "version", "rounds"),
    *("threshold_pct", "workloads", "name", "metric", "estimate_pct", "ci95_pct", "verdict"),
    *("latency", "cells", "threads", "improvement_pct", "excluded", "missing"),
}
_COLUMNS = {
    *("trial", "round", "attempt", "side", "workload", "threads", "valid", "used"),
    *("improvement_pct", "verdict", "latency_verdict"),
}
# Kinds of what cannot be verified.
_PAGES = "pages of another Benchlab"
_ONE_ONLY = "files or figures that only one Benchlab writes"
_DECISIONS = "decisions by another rule"
# What a rule decides: keys of report.json and columns of tables, by the place in a file.
_DECIDED = re.compile(r"\b(?:rule|ci95_pct|p_adjusted|(?:latency_)?verdict|reasons|calibration)\b")
# The series of trials in a page.
_SERIES = re.compile(r'<details class="seconds">.*?</details>\n', re.DOTALL)


def compare(bundle: Bundle, again: Mapping[str, bytes], findings: Findings) -> None:
    """Note where the published files of a bundle differ from those that were rendered again.

    If the same Benchlab wrote them they have to be equal byte for byte, except that figures at full
    precision may differ by :data:`RELATIVE`. If another one did, ``report.json`` is compared key by
    key and a table cell by cell; its pages and pictures are not verified unless they are equal.
    Nor is what another rule decided (the report says which). Which Benchlab it was is in the
    manifest, where a forger can write anything.

    Args:
        again: contents by path within the report.

    Raises:
        FaultyFileError: a file cannot be read.
    """
    published = {name.removeprefix(REPORT): name for name in bundle.names(REPORT)}
    rule = _rule(bundle, published.get(FIGURES))
    faulty = (found.file for found in findings.differences)
    whole = not any(name.startswith(RAW) for name in (*bundle.missing, *faulty))
    for name in sorted(published.keys() | again.keys()):
        content = bundle.read(published[name]) if name in published else None
        of_page = _Compared(name, bundle.manifest, rule, findings, whole)
        of_page.compare(content, again.get(name))


def _rule(bundle: Bundle, name: str | None) -> object:
    """The rule that decided, as the report says; the first one did not say it."""
    try:
        document = parsed(name, bundle.read(name)) if name else {}
    except FaultyFileError:  # said where the file is compared
        return RULE
    return document.get("rule", 1) if isinstance(document, dict) else RULE


class _Compared:
    """One file of a report, by its path, to be compared with the one rendered again.

    Args:
        whole: whether the bundle has everything that is kept of trials, as far as it was verified.
    """

    def __init__(
        self, name: str, said: Manifest, rule: object, findings: Findings, whole: bool
    ) -> None:
        self.whole = whole
        self.name, self.file, self.findings = name, f"{REPORT}{name}", findings
        self.same = said.same(MADE_BY)
        self.version = said.made_with.get("benchlab", "unknown")
        self.rule = RULE if self.same else rule

    def compare(self, published: bytes | None, again: bytes | None) -> None:
        """Compare the two; None: there is none."""
        before = len(self.findings.differences) + len(self.findings.unverified)
        if published is None:
            self._there_and_not_there("", False, required=self.name.split("/")[-1] in _FILES)
        elif again is None:
            self._there_and_not_there("", True, required=False)
        elif published != again:
            try:
                self._unlike(published, again)
            except FaultyFileError as error:
                self.findings.differs(self.file, f"cannot be read: {error.fault}")
            except (ValueError, OverflowError, RecursionError, csv.Error) as error:
                self.findings.differs(self.file, f"cannot be read: {error}")
        if before == len(self.findings.differences) + len(self.findings.unverified):
            self.findings.checked["report files"] += 1

    def _unlike(self, published: bytes, again: bytes) -> None:
        if self.name == FIGURES:
            self._document(parsed(self.file, published), parsed(self.file, again), "")
        elif self.name.endswith(".csv"):
            self._table(_rows(published), _rows(again))
        else:
            self._page(published.decode(), again.decode())

    def _page(self, published: str, again: str) -> None:
        """Compare a page, or a picture."""
        if not self.same:
            why = f"{self.file}: another Benchlab ({self.version}) wrote it, and this one writes it"
            self.findings.cannot_verify(_PAGES, f"{why} otherwise")
            return
        if not self.whole:  # then it is known already why the series differ
            published, again = _SERIES.sub("", published), _SERIES.sub("", again)
            if published == again:
                return
        if line := first_difference(published, again):
            self.findings.differs(self.file, **line)

    def _table(self, published: list[list[str]], again: list[list[str]]) -> None:
        """Compare a table; the same Benchlab has to have written the same columns in order."""
        header, wanted = published[0] if published else [], again[0]
        if (self.same and header != wanted) or len(set(header)) != len(header):
            self._differs("row 1", ", ".join(header) or "empty", ", ".join(wanted))
            return
        for column in dict.fromkeys((*wanted, *header)):
            if (column in header) != (column in wanted):
                place, required = f"column {column}", column in _COLUMNS
                self._there_and_not_there(place, column in header, required=required)
        if len(published) != len(again):
            self._differs("", f"{len(published)} rows", f"{len(again)} rows")
            return
        shared = [(column, header.index(column), at) for at, column in enumerate(wanted)
                  if column in header]  # fmt: skip
        rows = zip(published[1:], again[1:], strict=True)
        for number, (row, other) in enumerate(rows, start=2):
            if len(row) != len(header):
                self._differs(f"row {number}", f"{len(row)} fields", f"{len(header)} fields")
                continue
            for column, ours, theirs in shared:
                one, two = row[ours], other[theirs]
                if one != two and not _same_number(one, two):
                    self._differs(f"row {number}: {column}", one or "empty", two or "empty")

    def _document(self, found: Any, again: Any, where: str) -> None:
        if isinstance(found, dict) and isinstance(again, dict):
            for key in dict.fromkeys((*again, *found)):
                place = f"{where}.{key}".removeprefix(".")
                if key in found and key in again:
                    self._document(found[key], again[key], place)
                else:
                    self._there_and_not_there(place, key in found, required=key in _KEYS)
        elif isinstance(found, list) and isinstance(again, list) and len(found) == len(again):
            for number, (one, other) in enumerate(zip(found, again, strict=True)):
                named = other if isinstance(other, dict) else {}
                name = named.get("name") or named.get("threads", number)
                self._document(one, other, f"{where}[{name}]")
        elif not _same_value(found, again):
            self._differs(where, _written(found), _written(again))

    def _there_and_not_there(self, where: str, is_published: bool, *, required: bool) -> None:
        """Note something that only one of the two has: at a place, or the file itself.

        ``required``: whether every Benchlab writes it.
        """
        if self.same or (required and not is_published):
            one, other = ("there", "not there") if is_published else ("not there", "there")
            self._differs(where, one, other)
            return
        place = f"{self.file}: {where}" if where else self.file
        which = (
            f"this Benchlab writes it, and the one that made the report ({self.version}) did not"
        )
        if is_published:
            which = f"another Benchlab ({self.version}) wrote it, and this one does not"
        self.findings.cannot_verify(_ONE_ONLY, f"{place}: {which}")

    def _differs(self, where: str, found: str, again: str) -> None:
        if self.rule != RULE and _DECIDED.search(where):
            why = f"{found} by rule {self.rule}, {again} by the rule {RULE} of this Benchlab"
            self.findings.cannot_verify(_DECISIONS, f"{self.file}: {where}: {why}")
            return
        self.findings.differs(self.file, found, where=where, recomputed=again)


def _rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))


def _same_number(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=RELATIVE)
    except ValueError:
        return False


def _same_value(found: Any, again: Any) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (found, again))
    if numbers:
        return math.isclose(found, again, rel_tol=RELATIVE)
    return type(found) is type(again) and bool(found == again)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:300]
