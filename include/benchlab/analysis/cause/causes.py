"""Why workloads changed, as far as the counts of their servers can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchlab.analysis.cause.ranked import Ranked
from benchlab.analysis.cause.split import Split
from benchlab.language import Message


@dataclass(frozen=True)
class Causes:
    """What is known of a campaign's changes.

    Attributes:
        splits: where the time went, by workload whose throughput changed; or why that is not known.
        ranked: which counts moved, by workload with any change; None where there are no counts.
        unread: of how many trials counts could not be read, and of how many that is, by workload
            with any such trial.
    """

    splits: Mapping[str, Split | Message] = field(default_factory=dict)
    ranked: Mapping[str, Ranked | None] = field(default_factory=dict)
    unread: Mapping[str, tuple[int, int]] = field(default_factory=dict)


NO_CAUSES = Causes()
