"""Servers, parameters and client commands of a campaign, as a report shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from benchlab import workloads
from benchlab.analysis.gates.variables import SQL_SERVER
from benchlab.engines.database import sql_value
from benchlab.language import Language, Value, side_name
from benchlab.language.names import items, plain, service_of, title_of
from benchlab.plan.fields.builds import label
from benchlab.plan.fields.engines import Components, SideSpec
from benchlab.plan.open_loop import rate_of, saturated
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign, InstanceFacts, TrialResult
from benchlab.workloads.client import Endpoint, Session, program_of
from benchlab.workloads.workload import Workload

Row: TypeAlias = tuple[str, str, str | None]
"""The servers' component and side, their version, their git hash."""


def servers(campaign: Campaign, language: Language) -> tuple[Row, ...]:
    """The servers by component, side by side within each; empty where none are recorded.

    Servers of a side with the same version and git hash share a row, such as
    ``("TiKV (baseline, 3 servers)", "v5.1.1", "1e2d3c")``.
    """
    return tuple(
        group
        for (side, component), peers in _peers(campaign).items()
        for group in _alike(side, _asked(campaign, side, component), peers, language)
    )


def configured(campaign: Campaign, language: Language) -> str | None:
    """A sentence on whether each component's servers are configured alike; None: no servers."""
    odd, unknown = [], []
    by_component = _peers(campaign)
    if not by_component:
        return None
    for (side, component), peers in by_component.items():
        digests = {server.config_digest for server in peers}
        service = service_of(component)
        name = language.say("software-component", service=service, side=side_name(side))
        if digests == {None}:
            unknown.append(name)
        elif len(digests) > 1:
            odd.append(name)
    said = language.say("software-alike")
    if odd:
        said = language.say("software-odd", servers=items(odd, language))
    if not unknown:
        return said
    return language.say("software-untold", said=said, servers=items(unknown, language))


def _asked(campaign: Campaign, side: Side, component: str) -> str:
    spec = campaign.plan.sides[side]
    own = {name: build for name, build in spec.builds.items() if name == component}
    return label(spec.version, own)


def _peers(campaign: Campaign) -> dict[tuple[Side, str], list[InstanceFacts]]:
    """The servers by side and component, ordered by component."""
    known = {side: campaign.facts[side].instances for side in SIDES if side in campaign.facts}
    components = dict.fromkeys(one.component for servers in known.values() for one in servers)
    return {
        (side, component): peers
        for component in components
        for side, servers in known.items()
        if (peers := [server for server in servers if server.component == component])
    }


def _alike(
    side: Side, asked: str, peers: Sequence[InstanceFacts], language: Language
) -> Iterator[Row]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for one in peers:
        groups.setdefault((one.version, one.git_hash), []).append(plain(one.host))
    for (version, git_hash), hosts in groups.items():
        reported = plain(version)
        as_asked = reported.removeprefix("v") == asked.removeprefix("v")
        title = language.say(
            "software-servers" if len(groups) == 1 else "software-servers-on",
            service=service_of(plain(peers[0].component)),
            side=side_name(side),
            count=len(hosts),
            hosts=items(hosts, language),
        )
        said = language.say("software-version", asked=asked, reported=reported)
        yield title, asked if as_asked else said, plain(git_hash) if git_hash else None


# The parameters of a cluster as they were asked for, in the form of the published pages

# Stands for a component where parameters are global variables, not configuration items.
_VARIABLES = ""


@dataclass(frozen=True)
class Block:
    """Parameters of one component, or global variables, as code to show.

    Attributes:
        language: ``yaml`` or ``sql``.
    """

    heading: str
    language: str
    text: str


def blocks(campaign: Campaign, language: Language) -> tuple[Block, ...]:
    """The parameters common to all sides, then each side's own, then each workload's."""
    sides = {side: grouped(planned) for side, planned in campaign.plan.sides.items()}
    alike = reduce(_shared, sides.values())
    made = list(_blocks(alike, language))
    for side, own in sides.items():
        version, name = campaign.plan.sides[side].label, side_name(side)
        only = _without(own, alike)
        made += _blocks(only, language, "parameters-of-side", side=name, version=version)
    engine = campaign.report_type.engines[campaign.plan.engine]
    for workload, components in engine.by_workload.items():
        title = title_of(workload)
        made += _blocks(components, language, "parameters-of-workload", workload=title)
    return tuple(made)


def same(campaign: Campaign) -> bool:
    """Whether all sides were asked for the same parameters."""
    first, *others = map(grouped, campaign.plan.sides.values())
    return all(other == first for other in others)


def grouped(side: SideSpec) -> Components:
    """A side's configuration items by component, its global variables under the empty name."""
    items: Components = {name: dict(own) for name, own in side.components.items()}
    for key, value in side.parameters.items():
        # A configuration item has a dot or a hyphen in its name, a global variable does not.
        is_item = "." in key or "-" in key
        items.setdefault(SQL_SERVER if is_item else _VARIABLES, {})[key] = value
    order = {SQL_SERVER: 0, _VARIABLES: 2}
    return {
        name: items[name] for name in sorted(items, key=lambda name: order.get(name, 1))
        if items[name]
    }  # fmt: skip


def _shared(baseline: Components, candidate: Components) -> Components:
    return {
        name: {k: v for k, v in own.items() if (k, v) in candidate.get(name, {}).items()}
        for name, own in baseline.items()
    }


def _without(items: Components, common: Components) -> Components:
    return {
        name: {k: v for k, v in own.items() if k not in common.get(name, {})}
        for name, own in items.items()
    }


def _blocks(
    components: Components, language: Language, which: str = "", **of: Value
) -> Iterator[Block]:
    """A block per component; message ``which`` adds the side or workload to its heading."""
    for name, own in components.items():
        if name == _VARIABLES:
            heading, form = language.say("parameters-variables"), "sql"
            lines = [f"SET GLOBAL {key} = {sql_value(v)};" for key, v in own.items()]
        else:
            heading, form = language.say("parameters-items", service=service_of(name)), "yaml"
            lines = [f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in own.items()]
        if own:
            if which:
                heading = language.say(which, heading=heading, **of)
            yield Block(heading, form, "\n".join(lines))


# The commands of the test plan, from the workloads' own builders: those shown are those that ran

# Options whose value differs between trials or says nothing outside the machine.
_PLACEHOLDERS = {
    "--config-file": "$config_file",
    "--host": "$host",
    "--mysql-host": "$host",
    "--mysql-port": "$port",
    "--mysql-user": "$user",
    "--port": "$port",
    **{f"--prop=mysql.{name}": f"${name}" for name in ("host", "port", "user")},
    "--queries": "$query",
    "--threads": "$threads",
    "--user": "$user",
}
_OF_TRIALS = ("--queries", "--threads")


@dataclass(frozen=True)
class Command:
    """A shell command and what it is for."""

    purpose: str
    text: str


def commands_of(campaign: Campaign, language: Language) -> tuple[Command, ...]:
    """The commands for preparing the dataset and running a trial.

    What differs between trials is a placeholder, such as ``$workload`` and ``$threads``. Empty if
    the workloads belong to several modules, or to one that no longer exists.
    """
    names = {trial.workload for trial in campaign.plan.trials}
    module, *others = {workloads.module_of(name) for name in names}
    if module is None or others:
        return ()
    prepare = module.prepare_command(_session(campaign, module, 1))
    seconds = max(trial.seconds for trial in campaign.plan.trials)
    threads, *more = {trial.threads for trial in campaign.plan.trials}
    runs = {}
    for name in sorted(names):
        rate = None if (sent := rate_of(name)) is None else sent.per_s or "$rate"
        runs[name] = _run(
            campaign, module, name, _session(campaign, module, threads, rate), seconds
        )
    own = {k: v for k, v in _PLACEHOLDERS.items() if more or k != "--threads"}
    restored = campaign.restored_dataset
    return (
        Command(
            language.say("commands-loaded-before" if restored else "commands-load"), _shell(prepare)
        ),
        *_of_runs(runs, language, own),
    )


def command_of(campaign: Campaign, result: TrialResult) -> str:
    """The client's command of one trial as it ran, with ``$host``, ``$port`` and so on.

    Empty if its workload no longer exists.
    """
    trial = result.trial
    if (module := workloads.module_of(trial.workload)) is None:
        return ""
    sent = result.value("rate") if rate_of(trial.workload) else None
    session = _session(campaign, module, trial.threads, None if sent is None else round(sent))
    words = _run(campaign, module, trial.workload, session, trial.seconds)
    return _shell(words, {k: v for k, v in _PLACEHOLDERS.items() if k not in _OF_TRIALS})


def _session(
    campaign: Campaign, module: Workload, threads: int, rate: int | str | None = None
) -> Session:
    endpoint = Endpoint("host", 1, "user", "", module.DATABASE)
    dataset = campaign.report_type.dataset
    return Session(endpoint, "config", dataset, threads, campaign.client, rate)


def _run(
    campaign: Campaign, module: Workload, workload: str, session: Session, seconds: int
) -> Sequence[str]:
    ignored, name = _ignored_errors(campaign), saturated(workload)
    command = module.run_command(name, session, seconds=seconds, **ignored)
    return program_of(session.client.program, module.PROGRAMS).split(command)[1]


def _of_runs(
    runs: Mapping[str, Sequence[str]], language: Language, placeholders: Mapping[str, str]
) -> list[Command]:
    """One command for all workloads if they differ only in name or query, else one each."""
    shown = {
        name: _shell(
            ["$workload" if len(runs) > 1 and word == saturated(name) else word for word in run],
            placeholders,
        )
        for name, run in runs.items()
    }
    if len({*shown.values()}) == 1:
        return [Command(language.say("commands-run"), next(iter(shown.values())))]
    alike: dict[str, list[str]] = {}
    for name, text in shown.items():
        alike.setdefault(text, []).append(title_of(name))
    return [
        Command(language.say("commands-run-of", workload=items(names, language)), text)
        for text, names in alike.items()
    ]


def _ignored_errors(campaign: Campaign) -> dict[str, tuple[int, ...]]:
    """The recorded error numbers that the client ignored, as an argument; empty if not recorded."""
    recorded = campaign.environment.get("ignored_errors")
    if recorded is None:
        return {}
    return {"ignore_errors": tuple(int(number) for number in recorded.split(",") if number.strip())}


def _shell(words: Sequence[str], placeholders: Mapping[str, str] = _PLACEHOLDERS) -> str:
    """The command on several lines: program and workload first, then one option per line."""
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    shown = []
    for word in words[first:]:
        option, separator, _ = word.rpartition("=")
        placeholder = placeholders.get(option) if separator else None
        shown.append(f"{option}={placeholder}" if placeholder else word)
    return " \\\n    ".join((" ".join(words[:first]), *shown))
