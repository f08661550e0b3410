"""The commands on the release calendar: releases, releases update, releases type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from benchlab import engines as engines_module
from benchlab.campaign import calendar_update, report_types
from benchlab.cli.options import Json, day, show
from benchlab.errors import NoReleaseError, SpecError, UnavailableError
from benchlab.home import Home, find
from benchlab.language.names import plain
from benchlab.plan import releases as calendars
from benchlab.plan import versions
from benchlab.plan.releases import Calendar
from benchlab.plan.versions import NEWEST, PREVIOUS, Release

app = typer.Typer()
_releases = typer.Typer(invoke_without_command=True)
app.add_typer(_releases, name="releases")


class _Known(NamedTuple):
    """The releases of one engine as of a day.

    Attributes:
        releases: the releases to list.
        named: the release that each version rule names; None if it names none.
    """

    engine: str
    on: date
    releases: Sequence[Release]
    named: Mapping[str, Release | None]


@_releases.callback()
def list_releases(
    context: typer.Context,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="one engine only: tidb, mariadb")
    ] = None,
    on: Annotated[
        date | None,
        typer.Option(parser=day, metavar="DAY", help="as of this day; default: today"),
    ] = None,
    series: Annotated[
        str | None, typer.Option(metavar="SERIES", help="one series only: 6.5")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the calendar's releases, and what version rules name.

    Example: benchlab releases --engine tidb --series 6.5
    """
    if context.invoked_subcommand is not None:
        if engine or on or series or as_json:
            raise SpecError("releases: --engine, --on, --series and --json are for the list only")
        return
    as_of, chosen = on or datetime.now(UTC).date(), _series(series)
    calendar = report_types.calendar(find())
    found = [_known(calendar, name, as_of, chosen) for name in _engines(engine)]
    # The rules come last, where they stay visible after a long list.
    show(
        found,
        as_json,
        lambda found: [_document(known) for known in found],
        lambda found, *_: "\n".join([*map(_list, found), *map(_answer, found)]),
    )


@_releases.command()
def update(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.csv",
            help="releases: version, release_date and optionally type, in any order",
        ),
    ] = None,
    source: Annotated[
        Literal["tiup"] | None,
        typer.Option("--from", help="instead of a file: what `tiup list tidb --all` has"),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="the engine of all of them; needed where versions are bare: 10.11.5",
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="overwrite days and types that differ in the calendar"),
    ] = False,
) -> None:
    """Merge a list of releases into the calendar, all or nothing.

    Example: benchlab releases update --from tiup
    """
    home = find()
    if (file is None) == (source is None):
        raise SpecError("releases update: name either a FILE.csv or --from tiup")
    if file is None:
        if engine or replace:
            raise SpecError("releases update: --engine and --replace go with a FILE.csv only")
        _update_from_tiup(home)
        return
    before = report_types.calendar(home)
    new = calendars.read_new(file)
    _refuse_foreign(file, new.releases, _engines(engine))
    merged = calendars.merge(before, new.releases, replace=replace)
    if engine is None:
        _refuse_bare(file, merged.added)
    if merged.calendar != before:
        calendars.write(merged.calendar, home.releases)
    for line in new.left_out:
        print(f"left out: {plain(line)}: not a version that a report type can name")
    for release in merged.added:
        print(f"added: {_engine_of(release)}  {_line(release)}")
    for was, now in merged.changed:
        print(_changed(was, now))
    print(
        f"{len(merged.calendar.releases)} releases; {len(merged.added)} added, "
        f"{len(merged.changed)} changed"
    )


def _update_from_tiup(home: Home) -> None:
    if (found := calendar_update.from_tiup(home)) is None:
        raise UnavailableError(f"releases update: {calendar_update.NO_TIUP}")
    for sentence in found:
        print(plain(sentence))


@_releases.command("type")
def retype(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="a release of the calendar")],
    kind: Annotated[
        str, typer.Argument(metavar="TYPE", help=f"its type: {', '.join(versions.RELEASE_KINDS)}")
    ],
) -> None:
    """Correct the type of a release in the calendar.

    Example: benchlab releases type v6.5.0 LTS
    """
    home = find()
    merged = calendars.retyped(report_types.calendar(home), version, kind)
    if merged.changed:
        calendars.write(merged.calendar, home.releases)
    for was, now in merged.changed:
        print(_changed(was, now))
    if not merged.changed:
        print(f"{version} is {kind} already")


def _changed(was: Release, now: Release) -> str:
    return f"changed: {_engine_of(now)}  {_line(now)}; before: {was.day}  {was.kind}"


def _refuse_foreign(file: Path, releases: Sequence[Release], engines: Sequence[str]) -> None:
    owners = [engines_module.by_name()[name] for name in engines]
    texts = [release.version.text for release in releases]
    if foreign := [text for text in texts if not any(owner.owns(text) for owner in owners)]:
        raise SpecError(
            f"{file}: not a version of {' or '.join(engines)}: {', '.join(foreign)}; TiDB's are "
            "written v6.5.0, MariaDB's 10.11.5"
        )


def _refuse_bare(file: Path, added: Sequence[Release]) -> None:
    """Refuse versions without a leading ``v``: TiDB's would be taken for MariaDB's."""
    bare = [release for release in added if release.version.text[0].isdigit()]
    if bare:
        names = ", ".join(release.version.text for release in bare)
        engine = _engine_of(bare[0])
        raise SpecError(
            f"{file}: {names}: without a leading v these are versions of {engine}; if they are, "
            f"give --engine {engine}; write TiDB's as v6.5.0"
        )


def _engine_of(release: Release) -> str:
    there = engines_module.by_name().items()
    return next(name for name, engine in there if engine.owns(release.version.text))


def _engines(name: str | None) -> Sequence[str]:
    there = engines_module.by_name()
    if name is None:
        return tuple(there)
    if name not in there:
        raise SpecError(f"--engine: unknown: {name!r}; known: {', '.join(there)}")
    return (name,)


def _series(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rule = f"{NEWEST} {text}"
    series = versions.parse_rule(rule).series if versions.is_rule(rule) else None
    if series is None:
        raise SpecError(f"--series: {text!r} is not a series; write it as 6.5")
    return series


def _known(calendar: Calendar, engine: str, on: date, series: tuple[int, int] | None) -> _Known:
    """An engine's releases as of a day; with a series, rules are relative to its newest one."""
    owned = calendar.owned(engines_module.by_name()[engine].owns)
    there = [release for release in owned if release.day <= on]
    newest = f"{NEWEST} {series[0]}.{series[1]}" if series else NEWEST
    named = {rule: _named(rule, there, on) for rule in (newest, f"{NEWEST} LTS")}
    if candidate := named[newest]:
        named |= {rule: _named(rule, there, on, candidate) for rule in PREVIOUS}
    shown = [release for release in there if series in (None, release.version.series)]
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
            {"version": one.version.text, "release_date": one.day.isoformat(), "type": one.kind}
            for one in known.releases
        ],
        "rules": {
            rule: release.version.text if release else None for rule, release in known.named.items()
        },
    }


def _list(known: _Known) -> str:
    count = len(known.releases)
    lines = [f"{known.engine}: {count} release{'s' * (count != 1)} until {known.on}"]
    return "\n".join([*lines, *(f"  {_line(release)}" for release in known.releases), ""])


def _answer(known: _Known) -> str:
    lines = [
        f"{known.engine}: version rules on {known.on}; a baseline's are relative to the newest"
    ]
    for rule, release in known.named.items():
        lines.append(f"  {rule:16} {_line(release) if release else 'none in the calendar'}")
    return "\n".join([*lines, ""])


def _line(release: Release) -> str:
    return f"{release.day}  {release.version.text:16} {release.kind}"
