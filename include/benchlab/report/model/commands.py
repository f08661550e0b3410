"""The commands of the test plan, with placeholders where a trial has its own values.

They come from the workloads' own builders, so that the command shown is the one that ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab import workloads
from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.results.records import Campaign
from benchlab.workloads.client import Endpoint, Session, program_of

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


@dataclass(frozen=True)
class Command:
    """One command, as a shell would read it, and what it is for."""

    purpose: str
    text: str


def of_campaign(campaign: Campaign, language: Language) -> tuple[Command, ...]:
    """How the dataset was prepared and a trial was run; empty if no client has all workloads."""
    names = {trial.workload for trial in campaign.plan.trials}
    modules = [module for name, module in workloads.by_name().items() if name in names]
    if len(modules) < len(names) or len(set(modules)) != 1:
        return ()
    module, client = modules[0], campaign.client
    endpoint = Endpoint("host", 1, "user", "", module.DATABASE)
    session = Session(endpoint, "config", campaign.report_type.dataset, 1, client)
    prepare = module.prepare_command(session)
    seconds = max(trial.seconds for trial in campaign.plan.trials)
    program, ignored = program_of(client.program, module.PROGRAMS), _ignored_errors(campaign)
    runs = {
        name: program.split(module.run_command(name, session, seconds=seconds, **ignored))[1]
        for name in sorted(names)
    }
    restored = campaign.restored_dataset
    return (
        Command(
            language.say("commands-loaded-before" if restored else "commands-load"), _shell(prepare)
        ),
        *_of_runs(runs, language),
    )


def _of_runs(runs: Mapping[str, Sequence[str]], language: Language) -> list[Command]:
    """One command for all workloads if they differ in their name or query only, else one each."""
    shown = {
        name: _shell(
            ["$workload" if word == name and _is_one_of_many(name) else word for word in run]
        )
        for name, run in runs.items()
    }
    if len({*shown.values()}) == 1:
        return [Command(language.say("commands-run"), next(iter(shown.values())))]
    return [
        Command(language.say("commands-run-of", workload=title_of(name)), text)
        for name, text in shown.items()
    ]


def _is_one_of_many(workload: str) -> bool:
    return len(workloads.by_name()[workload].NAMES) > 1


def _ignored_errors(campaign: Campaign) -> dict[str, tuple[int, ...]]:
    """The errors that the engine's client ignores; where none are recorded, its own default."""
    recorded = campaign.environment.get("ignored_errors")
    if recorded is None:
        return {}
    return {"ignore_errors": tuple(int(number) for number in recorded.split(",") if number.strip())}


def _shell(words: Sequence[str]) -> str:
    """The command over several lines: program and workload, then one option a line."""
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    shown = []
    for word in words[first:]:
        option, separator, _ = word.rpartition("=")
        placeholder = _PLACEHOLDERS.get(option) if separator else None
        shown.append(f"{option}={placeholder}" if placeholder else word)
    return " \\\n    ".join((" ".join(words[:first]), *shown))
