"""The task that adds new releases to the release calendar.

Heavy imports are inside the function, so that parsing the DAG file stays fast.
"""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def update() -> list[str]:
    """Add what TiUP's mirror has; return what was done, as sentences, or that there is no TiUP.

    Raises:
        UnavailableError: TiUP cannot ask its mirror.
        SpecError: the calendar does not validate, or its file cannot be written.
    """
    from benchlab import home
    from benchlab.campaign import calendar_update

    found = calendar_update.from_tiup(home.find())
    said = [calendar_update.NO_TIUP] if found is None else found
    for sentence in said:
        log.info("%s", sentence)
    return said
