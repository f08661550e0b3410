"""What campaigns teach that compared two versions before, each of them in several deployments.

Twelve of them are known, as many as count. Some are from another period.
"""

from __future__ import annotations

from dataclasses import replace

from benchlab.analysis.verdict.estimates import LATEST_EARLIER
from tools.study.bounds import Row
from tools.study.figure_rows import (
    FAR,
    HALF,
    HELD,
    NEAR,
    OUTLIERS,
    UNLIKE,
    Design,
    alarms,
    covers,
    finds,
)
from tools.study.held_out_rows import STILL

TWO = Design(deployments=2, earlier=LATEST_EARLIER)
FOUR = Design(deployments=4, rounds=4, earlier=LATEST_EARLIER)
HELD_BIAS = (
    "what a side has in all deployments shows in A/A campaigns alone, and five of them "
    "say little beside four deployments: on a fleet, deployments swap ports and hosts"
)
BEFORE = replace(STILL, name="a period whose deployments alone were half as noisy")


def _promised(design: Design) -> tuple[Row, ...]:
    return (
        alarms(NEAR, design),
        alarms(FAR, design),
        alarms(OUTLIERS, design),
        alarms(UNLIKE, design),
        alarms(NEAR, replace(design, calibrated_in=HALF)),
        alarms(NEAR, replace(design, calibrated_in=BEFORE), 8),
        covers(NEAR, design),
        covers(FAR, design),
    )


ROWS: tuple[Row, ...] = (
    *_promised(TWO),
    *_promised(FOUR),
    alarms(HELD, replace(TWO, aa_campaigns=5)),
    alarms(HELD, replace(FOUR, aa_campaigns=5), 17, 5, HELD_BIAS),
    finds(-5, NEAR, replace(TWO, earlier=0), 53),
    finds(-5, NEAR, TWO, 86),
    finds(-5, NEAR, replace(FOUR, earlier=0), 51),
    finds(-5, NEAR, FOUR, 87),
)
