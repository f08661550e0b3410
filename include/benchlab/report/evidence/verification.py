"""The outcome of verifying a bundle, collected while it is verified."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import jinja2

from benchlab.errors import BenchlabError
from benchlab.report.evidence import documents
from benchlab.report.evidence.documents import FaultyFileError

VerificationOutcome = Literal["holds", "differs", "not verified"]
"""``holds``: everything was compared and nothing differs. ``differs``: something differs. ``not
verified``: nothing differs, but something that could be forged was not compared."""

_LINE = 2000
# What comparison and templates raise on rows that have the right types but contradict each other,
# which only a forged bundle has.
_SENSELESS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, jinja2.TemplateError, BenchlabError),
)


@dataclass(frozen=True)
class Difference:
    """Something in a bundle that is not as it should be.

    Attributes:
        file: a file of the bundle, or the bundle itself.
        found: what the file says, or what is wrong with it.
        where: the place in the file: a trial and metric, a line, a key; empty: the whole file.
        recomputed: what it should say; None if not known.
    """

    file: str
    found: str
    where: str = ""
    recomputed: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}: {self.where}" if self.where else self.file
        again = "" if self.recomputed is None else f"; recomputed: {self.recomputed}"
        return f"{place}: {self.found}{again}"


@dataclass
class Verification:
    """The outcome of verifying a bundle, so far.

    Attributes:
        bundle: its path.
        campaign: its id; None if it could not be read.
        made_with: the version of Benchlab that made the bundle; None if it could not be read.
        checked: how many ``files``, ``samples`` and so on were checked.
        unverified: what could not be verified in this bundle, though it can be in others, and why.
        not_recomputed: what is not recomputed but does not affect the outcome, and why.
    """

    bundle: str
    campaign: str | None = None
    made_with: str | None = None
    checked: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    not_recomputed: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> VerificationOutcome:
        """Whether it holds; differences take precedence over what could not be verified."""
        if self.differences:
            return "differs"
        return "not verified" if self.unverified else "holds"

    def differs(self, file: str, found: str, where: str = "") -> None:
        """Add a difference without a recomputed value."""
        self.differences.append(Difference(file, found, where))

    def compare(self, file: str, found: Any, again: Any, where: str = "") -> None:
        """Add the places where a document differs from the recomputed one."""
        for place, one, other in documents.differences(found, again, where):
            self.unlike(file, one, other, place)

    def unlike(self, file: str, found: Any, again: Any, where: str) -> None:
        """Add one value that differs from the recomputed one."""
        said = documents.written(found, again), documents.written(again, found)
        self.differences.append(Difference(file, said[0], where, said[1]))

    def cannot_verify(self, why: str) -> None:
        """Add what could not be verified, unless it was added before."""
        if why not in self.unverified:
            self.unverified.append(why)

    @contextlib.contextmanager
    def reading(self, file: str, where: str = "") -> Iterator[None]:
        """A context in which a faulty or inconsistent file becomes a difference, not an error."""
        try:
            yield
        except FaultyFileError as error:
            self.differs(error.file, error.fault, where)
        except _SENSELESS as error:
            self.differs(file, f"it is inconsistent: {type(error).__name__}: {error}", where)

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON document."""
        own = {"outcome": self.outcome, "relative_tolerance": documents.RELATIVE}
        return {**own, **asdict(self), "checked": dict(self.checked)}

    def lines(self) -> list[str]:
        """The outcome for people, line by line; unprintable characters are escaped."""
        counts = ", ".join(f"{number:,} {what}" for what, number in self.checked.items() if number)
        again = "" if self.campaign is None else f" of {self.campaign}"
        end = {
            "holds": "the bundle holds",
            "differs": "the bundle does not hold",
            "not verified": "the bundle is not verified as a whole: nothing differs, but "
            f"{len(self.unverified)} of its parts could not be compared",
        }
        lines = [
            f"{self.bundle}: evidence{again}",
            f"checked: {counts or 'nothing'}",
            *(f"differs: {difference}" for difference in self.differences),
            *(f"not verified: {why}" for why in self.unverified),
            *(f"not checked: {note}" for note in self.not_recomputed),
            end[self.outcome],
        ]
        return [_shown(line) for line in lines]


def _shown(text: str) -> str:
    """A sentence as one printable line."""
    safe = text[:_LINE].encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in safe)[:_LINE]
