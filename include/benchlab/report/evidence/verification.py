"""What the verification of a bundle found."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from benchlab.report.evidence import archive

VerificationOutcome = Literal["holds", "differs", "not verified"]
"""``holds``: everything was compared, and nothing differs. ``differs``: something does. ``not
verified``: nothing differs, but something that can be forged could not be compared."""

# How far a recomputed figure may be off: processors and libraries round differently. Figures that
# are only read again, such as samples, may not differ at all.
RELATIVE = 1e-9
_LINE = 2000


@dataclass(frozen=True)
class Difference:
    """Something in a bundle that is not as it should be.

    Attributes:
        file: a file of the bundle, or the bundle itself.
        where: in the file: a trial and its metric, a line, a place in a document; empty: the file.
        found: what it says.
        recomputed: what it should say; None where that is not known.
    """

    file: str
    found: str
    where: str = ""
    recomputed: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}: {self.where}" if self.where else self.file
        again = "" if self.recomputed is None else f"; recomputed: {self.recomputed}"
        return f"{place}: {self.found}{again}"


@dataclass(frozen=True)
class Unverified:
    """Something that the report rests on or consists of and that could not be verified.

    Attributes:
        what: its kind, in the plural, such as ``pages of another Benchlab``.
        why: which, and why, as a sentence.
    """

    what: str
    why: str


@dataclass(frozen=True)
class Verification:
    """The outcome of verifying a bundle.

    Attributes:
        bundle: what was verified.
        campaign: its id; None where that could not be read.
        made_with: the version of Benchlab that made it; None where that could not be read.
        checked: by kind, such as ``files`` or ``samples``, how many were checked.
        differences: all that were found.
        unverified: what could not be verified in this bundle, though it can be in others.
        not_recomputed: what is never recomputed, or does not change the outcome, and why, as
            sentences.
    """

    bundle: str
    campaign: str | None
    made_with: str | None
    checked: dict[str, int]
    differences: tuple[Difference, ...]
    unverified: tuple[Unverified, ...]
    not_recomputed: tuple[str, ...]

    @property
    def outcome(self) -> VerificationOutcome:
        """Whether it holds; a difference weighs more than what could not be verified."""
        if self.differences:
            return "differs"
        return "not verified" if self.unverified else "holds"

    @property
    def holds(self) -> bool:
        """Whether nothing differs, and all was verified that can be of a bundle."""
        return self.outcome == "holds"

    def to_json(self) -> dict[str, Any]:
        """The outcome for machines."""
        return {
            "outcome": self.outcome,
            "holds": self.holds,
            "relative_tolerance": RELATIVE,
            **asdict(self),
        }

    def lines(self) -> list[str]:
        """The outcome for people, line by line; what the bundle says is escaped."""
        counts = ", ".join(f"{number:,} {what}" for what, number in self.checked.items() if number)
        again = "" if self.campaign is None else f" of {self.campaign}"
        lines = [
            f"{self.bundle}: evidence{again}",
            f"checked: {counts or 'nothing'}",
            *(f"differs: {difference}" for difference in self.differences),
            *(f"not verified: {unverified.why}" for unverified in self.unverified),
            *(f"not checked: {note}" for note in self.not_recomputed),
            self._last_line(),
        ]
        return [archive.shown(line, _LINE) for line in lines]

    def _last_line(self) -> str:
        if self.outcome == "holds":
            return "the bundle holds"
        if self.outcome == "differs":
            return "the bundle does not hold"
        kinds = Counter(unverified.what for unverified in self.unverified)
        what = ", ".join(f"{kind} ({number})" for kind, number in kinds.items())
        return f"the bundle is not verified as a whole: nothing differs, but not compared: {what}"


@dataclass
class Findings:
    """What a verification has found so far."""

    differences: list[Difference] = field(default_factory=list)
    unverified: list[Unverified] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def differs(self, file: str, found: str, *, where: str = "", recomputed: object = None) -> None:
        """Note a difference."""
        again = None if recomputed is None else str(recomputed)
        self.differences.append(Difference(file, found, where, again))

    @contextlib.contextmanager
    def reading(self, where: str = "") -> Iterator[None]:
        """Note a file that cannot be read or is not what it should be, and go on after it."""
        try:
            yield
        except archive.FaultyFileError as error:
            self.differs(error.file, error.fault, where=where)

    def cannot_verify(self, what: str, why: str) -> None:
        """Note something that could not be verified (:class:`Unverified`)."""
        self.unverified.append(Unverified(what, why))
