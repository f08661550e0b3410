"""Why workloads changed, as far as the counts of their servers and diagnosis trials can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from benchlab.analysis.cause.profiles import Compared
from benchlab.analysis.cause.ranked import Ranked
from benchlab.analysis.cause.split import Split
from benchlab.analysis.cause.statements import Compared as ComparedStatements
from benchlab.language import Message, Said
from benchlab.results.diagnosis import Kind

Profiles: TypeAlias = Mapping[str, Compared | Said]
"""By component: its profiles, compared, or why there are none."""


@dataclass(frozen=True)
class Causes:
    """What is known of a campaign's changes.

    Attributes:
        splits: where the time went, by workload whose throughput changed; or why that is not known.
        ranked: which counts moved, by workload with any change; None where there are no counts.
        unread: of how many trials counts could not be read, and of how many that is, by workload
            with any such trial.
        statements: which statements and plans changed, by workload that was diagnosed.
        profiles: which functions changed, by workload that was diagnosed, and by kind.
    """

    splits: Mapping[str, Split | Message] = field(default_factory=dict)
    ranked: Mapping[str, Ranked | None] = field(default_factory=dict)
    unread: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    statements: Mapping[str, ComparedStatements] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[Kind, Profiles]] = field(default_factory=dict)


NO_CAUSES = Causes()
