"""Why workloads changed, as far as the counts of their servers and closer looks can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchlab.analysis.cause.ranked import Ranked
from benchlab.analysis.cause.split import Split
from benchlab.analysis.cause.statements import Compared
from benchlab.language import Message


@dataclass(frozen=True)
class Looked:
    """What diagnosis trials show of one workload; what was not looked at is None."""

    statements: Compared | None = None


@dataclass(frozen=True)
class Causes:
    """What is known of a campaign's changes.

    Attributes:
        splits: where the time went, by workload whose throughput changed; or why that is not known.
        ranked: which counts moved, by workload with any change; None where counters were not read.
        looked: what diagnosis trials show, by workload that had some.
    """

    splits: Mapping[str, Split | Message] = field(default_factory=dict)
    ranked: Mapping[str, Ranked | None] = field(default_factory=dict)
    looked: Mapping[str, Looked] = field(default_factory=dict)


NO_CAUSES = Causes()
