"""What the probes of a fleet's hosts found, as a table of the report: a row for each host."""

from __future__ import annotations

from statistics import median

from benchlab.hosts.probes import (
    AGAIN,
    FIRST,
    MEASURES,
    ROUND_TRIP,
    HostProbe,
    from_text,
    noisy,
)
from benchlab.language import Language
from benchlab.language.names import clauses, items, plain
from benchlab.language.numbers import Numbers
from benchlab.results.records import Campaign

# Decimals, and how many of the measure's own unit make one of the column's.
_UNITS = {
    **dict.fromkeys(("cpu_one", "cpu_all"), (0, 1e3)),
    **dict.fromkeys(("disk_write", "disk_read"), (1, 1e6)),
    ROUND_TRIP: (3, 1.0),
}


def header(language: Language) -> list[str]:
    """The column headings of :func:`rows`."""
    columns = ("host", "roles", *(name.replace("_", "-") for name in (*MEASURES, ROUND_TRIP)))
    return [language.say(f"probes-{column}") for column in columns]


def rows(campaign: Campaign, language: Language) -> list[list[str]]:
    """A row per host with its medians, of two probes as ``first / again``; empty without any."""
    numbers = Numbers(language)
    probes = [from_text(campaign.environment[key]) for key in _there(campaign)]
    return [
        [
            plain(name),
            items(host.roles, language),
            *(
                " / ".join(_cell(probe.get(name), measure, numbers) for probe in probes)
                for measure in (*MEASURES, ROUND_TRIP)
            ),
        ]
        for name, host in (probes[0] if probes else {}).items()
    ]


def sentences(campaign: Campaign, language: Language) -> list[str]:
    """What the table covers, and why figures are missing."""
    there = _there(campaign)
    if not there:
        return []
    said = [language.say("probes-table", times=len(there))]
    numbers = Numbers(language)
    spread = [
        language.say(
            "probes-repeats",
            measure=language.say(f"probes-{measure.replace('_', '-')}"),
            host=plain(name),
            least=_figure(least, measure, numbers),
            most=_figure(most, measure, numbers),
            probe="only" if len(there) == 1 else "first" if key == FIRST else "again",
        )
        for key in there
        for measure, name, least, most in noisy(from_text(campaign.environment[key]))
    ]
    if spread:
        said.append(language.say("probes-noisy", repeats=clauses(spread, language)))
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for key in there:
        for name, host in from_text(campaign.environment[key]).items():
            for measure, why in host.failed.items():
                title = language.say(f"probes-{measure.replace('_', '-')}")
                reasons.setdefault((title, plain(why)), {})[plain(name)] = None
    missing = [
        language.say("probes-gap", measure=title, hosts=items(hosts, language), reason=why)
        for (title, why), hosts in reasons.items()
    ]
    if missing:
        said.append(language.say("probes-missing", gaps=clauses(missing, language)))
    return said


def _there(campaign: Campaign) -> list[str]:
    return [key for key in (FIRST, AGAIN) if key in campaign.environment]


def _cell(host: HostProbe | None, measure: str, numbers: Numbers) -> str:
    figures = host.figures.get(measure) if host is not None else None
    return _figure(median(figures) if figures else None, measure, numbers)


def _figure(value: float | None, measure: str, numbers: Numbers) -> str:
    decimals, unit = _UNITS.get(measure, (0, 1.0))
    return numbers.rate(None if value is None else value / unit, decimals)
