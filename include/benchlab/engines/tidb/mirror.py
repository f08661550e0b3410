"""Reads the table that ``tiup list tidb --all`` prints: versions of TiDB, and when TiUP got them.

TiUP's ``cmd/list.go`` prints a heading, the columns ``Version``, ``Installed`` (``YES`` or empty),
``Release`` and ``Platforms``, a line of dashes, and the versions in semantic order, without those
that were withdrawn ("yanked"). The newest daily build comes first, a second time, as
``nightly -> v9.0.0-beta.2.pre-nightly``. ``Release`` is RFC 3339: when the version was published on
the mirror, which for old versions is long after their release. ``--all`` is for components; the
command takes it, and lists the same versions without it. Errors are on stderr, with exit code 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from benchlab.errors import UnavailableError
from benchlab.plan import versions
from benchlab.plan.versions import Version

COLUMNS = ["Version", "Installed", "Release", "Platforms"]
# Not of a daily build (v9.0.0-alpha-nightly-20260101) nor of a fix for one user (v6.1.0-20221206).
_RELEASE = re.compile(r"v\d+\.\d+\.\d+(-(alpha|beta|rc)([.-]?\d+)?)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)T\S+")


@dataclass(frozen=True)
class Mirror:
    """What TiUP's mirror has.

    Attributes:
        releases: each with the day, in the publisher's time zone, on which the mirror got it.
        others: names of builds that are no releases, and of versions without a day.
    """

    releases: tuple[tuple[Version, date], ...]
    others: tuple[str, ...]


def read(text: str) -> Mirror:
    """Read the table: ``read(text).releases[-1]`` is the newest release.

    Raises:
        UnavailableError: it is no such table; says how it begins.
    """
    lines = [line.split() for line in text.splitlines()]
    if COLUMNS not in lines:
        begin = text.strip().partition("\n")[0][:100] or "nothing"
        raise UnavailableError(
            f"`tiup list tidb --all` prints no table with the columns {', '.join(COLUMNS)}, but: "
            f"{begin}"
        )
    releases, others = list[tuple[Version, date]](), list[str]()
    for words in lines[lines.index(COLUMNS) + 1 :]:
        day = next((match[1] for word in words if (match := _DAY.fullmatch(word))), None)
        if day is not None and _RELEASE.fullmatch(words[0]):
            releases.append((versions.parse(words[0]), date.fromisoformat(day)))
        elif words and words[0].strip("-"):  # not the line of dashes
            others.append(words[2] if words[1:2] == ["->"] else words[0])
    return Mirror(tuple(releases), tuple(dict.fromkeys(others)))
