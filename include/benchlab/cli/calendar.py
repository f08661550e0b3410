"""The commands on the release calendar: list it, merge a list of releases into it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from benchlab import engines as engines_module
from benchlab.campaign import report_types
from benchlab.cli.options import Json, day
from benchlab.errors import NoReleaseError, SpecError
from benchlab.home import find
from benchlab.language.names import plain
from benchlab.plan import releases as calendars
from benchlab.plan import versions
from benchlab.plan.releases import Calendar
from benchlab.plan.versions import NEWEST, PREVIOUS, Release

app = typer.Typer()
_releases = typer.Typer(invoke_without_command=True)
app.add_typer(_releases, name="releases")


@dataclass(frozen=True)
class _Known:
    """What the calendar has of one engine on a day.

    Attributes:
        named: by version rule, the release that it names; None where there is none.
    """

    engine: str
    on: date
    releases: Sequence[Release]
    named: Mapping[str, Release | None]


@_releases.callback()
def show(
    context: typer.Context,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="of one engine: tidb, mariadb")
    ] = None,
    on: Annotated[
        date | None,
        typer.Option(parser=day, metavar="DAY", help="as it was on this day; else today"),
    ] = None,
    series: Annotated[str | None, typer.Option(metavar="SERIES", help="of one series: 6.5")] = None,
    as_json: Json = False,
) -> None:
    """List the releases of the calendar, and what the version rules name on a day."""
    if context.invoked_subcommand is not None:
        if engine or on or series or as_json:
            raise SpecError("releases: --engine, --on, --series and --json are for the list only")
        return
    as_of, chosen = on or datetime.now(UTC).date(), _series(series)
    calendar = report_types.calendar(find())
    found = [_known(calendar, name, as_of, chosen) for name in _engines(engine)]
    if as_json:
        print(json.dumps([_document(each) for each in found], indent=2))
    else:
        # What is asked for comes last, where the end of a long list is seen.
        blocks = [*map(_list, found), *map(_answer, found)]
        print("\n\n".join("\n".join(lines) for lines in blocks))


@_releases.command()
def update(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv", help="releases: version, release_date and maybe type, in any order"
        ),
    ],
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="whose they are, where versions are bare: 10.11.5"),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="take days and types that differ from the calendar's"),
    ] = False,
) -> None:
    """Merge a list of releases into the calendar; nothing is written where anything is refused."""
    home = find()
    before = report_types.calendar(home)
    new = calendars.read_new(file)
    _refuse_foreign(file, new.releases, _engines(engine))
    merged = calendars.merge(before, new.releases, replace=replace)
    if engine is None:
        _refuse_bare(file, merged.added)
    if merged.calendar != before:
        calendars.write(merged.calendar, home.configs / "releases.csv")
    for line in new.left_out:
        print(f"left out: {plain(line)}: no version that can be named")
    for release in merged.added:
        print(f"added: {_engine_of(release)}  {_line(release)}")
    for was, now in merged.changed:
        print(f"changed: {_engine_of(now)}  {_line(now)}; before: {was.day}  {was.kind}")
    print(
        f"{len(merged.calendar.releases)} releases; {len(merged.added)} added, "
        f"{len(merged.changed)} changed"
    )


def _refuse_foreign(file: Path, releases: Sequence[Release], engines: Sequence[str]) -> None:
    owners = [engines_module.by_name()[name] for name in engines]
    foreign = [
        each.version.text
        for each in releases
        if not any(owner.owns(each.version.text) for owner in owners)
    ]
    if foreign:
        raise SpecError(
            f"{file}: no version of {' or '.join(engines)}: {', '.join(foreign)}; TiDB's are "
            "written v6.5.0, MariaDB's 10.11.5"
        )


def _refuse_bare(file: Path, added: Sequence[Release]) -> None:
    """TiDB's releases without their `v` would otherwise become MariaDB's."""
    bare = [each for each in added if each.version.text[0].isdigit()]
    if bare:
        names = ", ".join(each.version.text for each in bare)
        raise SpecError(
            f"{file}: {names}: without a leading v they would be of {_engine_of(bare[0])}; write "
            f"--engine {_engine_of(bare[0])} if they are, and TiDB's as v6.5.0; a list is of one "
            "engine then"
        )


def _engine_of(release: Release) -> str:
    there = engines_module.by_name().items()
    return next(name for name, engine in there if engine.owns(release.version.text))


def _engines(name: str | None) -> Sequence[str]:
    there = engines_module.by_name()
    if name is None:
        return tuple(there)
    if name not in there:
        raise SpecError(f"--engine: unknown: {name!r}; there are: {', '.join(there)}")
    return (name,)


def _series(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rule = f"{NEWEST} {text}"
    series = versions.parse_rule(rule).series if versions.is_rule(rule) else None
    if series is None:
        raise SpecError(f"--series: {text!r} is no series; write it as 6.5")
    return series


def _known(calendar: Calendar, engine: str, on: date, series: tuple[int, int] | None) -> _Known:
    """Of one series the rules are about the newest release in it."""
    there = [
        each for each in calendar.owned(engines_module.by_name()[engine].owns) if each.day <= on
    ]
    newest = f"{NEWEST} {series[0]}.{series[1]}" if series else NEWEST
    named = {rule: _named(rule, there, on) for rule in (newest, f"{NEWEST} LTS")}
    if candidate := named[newest]:
        named |= {rule: _named(rule, there, on, candidate) for rule in PREVIOUS}
    shown = [each for each in there if series in (None, each.version.series)]
    return _Known(engine, on, shown, named)


def _named(
    rule: str, releases: Sequence[Release], on: date, candidate: Release | None = None
) -> Release | None:
    try:
        return versions.resolve(
            versions.parse_rule(rule), releases, on, candidate.version if candidate else None
        )
    except NoReleaseError:
        return None


def _document(known: _Known) -> dict[str, Any]:
    return {
        "engine": known.engine,
        "on": known.on.isoformat(),
        "releases": [
            {"version": each.version.text, "release_date": each.day.isoformat(), "type": each.kind}
            for each in known.releases
        ],
        "rules": {
            rule: release.version.text if release else None for rule, release in known.named.items()
        },
    }


def _list(known: _Known) -> Iterator[str]:
    count = len(known.releases)
    yield f"{known.engine}: {count} release{'s' * (count != 1)} until {known.on}"
    yield from (f"  {_line(each)}" for each in known.releases)


def _answer(known: _Known) -> Iterator[str]:
    yield f"{known.engine}: version rules on {known.on}; a baseline's are relative to the newest"
    for rule, release in known.named.items():
        yield f"  {rule:16} {_line(release) if release else 'none in the calendar'}"


def _line(release: Release) -> str:
    return f"{release.day}  {release.version.text:16} {release.kind}"
