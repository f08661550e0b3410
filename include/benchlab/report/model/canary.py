"""Whether a canary was found: the slowdown that a schedule plants to see that the alarm works.

Nothing is stored about it: the verdict on the throughput of its workload says it.

Example:
    ``is_found("regression", (-12.0, -8.0), 10.0)`` is true.
"""

from __future__ import annotations

from benchlab.report.model.report import Report, Section

# A server that is stopped for a tenth of the time need not lose exactly that: what its clients do
# meanwhile goes on, and the work that waited comes at once.
_LEAST, _MOST = 0.5, 2.0


def is_found(verdict: str, ci95_pct: tuple[float, float] | None, planted_pct: float) -> bool:
    """Whether a verdict is a regression of about the planted size.

    The interval has to have a part between half of what was planted and twice as much.
    """
    if verdict != "regression" or ci95_pct is None:
        return False
    low, high = ci95_pct
    return low <= -_LEAST * planted_pct and high >= -_MOST * planted_pct


def planted_in(report: Report) -> Section | None:
    """The workload in which a canary was planted; None if it is none, or nothing was measured."""
    of = (section for section in report.sections if not section.at_rate)
    return next(of, None) if report.campaign.is_canary else None


def is_found_in(section: Section, report: Report) -> bool:
    """Whether what was planted in a workload was found."""
    found = section.figures
    return is_found(found.verdict, found.ci95_pct, report.plan.slowdown_pct)
