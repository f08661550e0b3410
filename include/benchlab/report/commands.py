"""The commands of the test plan, with placeholders where a trial has its own values.

They come from the workloads' own builders, so that the command shown is the one that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.results import Campaign
from benchlab.spec import Client
from benchlab.workloads import sysbench

# Options whose value differs between trials or says nothing outside the machine.
_PLACEHOLDERS = {
    "--config-file": "$config_file",
    "--mysql-host": "$host",
    "--mysql-port": "$port",
    "--mysql-user": "$user",
    "--threads": "$threads",
}


@dataclass(frozen=True)
class Command:
    """One command, as a shell would read it, and what it is for."""

    purpose: str
    text: str


def of_campaign(campaign: Campaign) -> tuple[Command, ...]:
    """How the dataset was prepared and a trial was run; empty where the client is another."""
    dataset = campaign.spec.get("dataset")
    workloads = {trial.workload for trial in campaign.plan.trials}
    if not dataset or not workloads or not workloads <= set(sysbench.NAMES):
        return ()
    size = sysbench.DATASET.model_validate(dataset)
    endpoint = sysbench.Endpoint("host", 1, "user", "", sysbench.DATABASE)
    prepare = sysbench.prepare_command(endpoint, "config", size, threads=1)
    run = sysbench.run_command(
        min(workloads),
        endpoint,
        "config",
        size,
        threads=1,
        seconds=max(trial.seconds for trial in campaign.plan.trials),
        client=Client.model_validate(campaign.spec.get("client") or {}),
        ignore_errors=_ignored_errors(campaign),
    )
    run[run.index(min(workloads))] = "$workload"
    return (
        Command(_purpose_of_load(campaign), _shell(prepare)),
        Command("Run one trial", _shell(run)),
    )


def _purpose_of_load(campaign: Campaign) -> str:
    if campaign.environment.get("dataset", "").startswith("restored"):
        return "Load the tables, as it was done before their dataset snapshots were taken"
    return "Load the tables, once on each side"


def _ignored_errors(campaign: Campaign) -> tuple[int, ...]:
    """The errors that the engine's client ignores; sysbench's own where none are recorded."""
    recorded = campaign.environment.get("ignored_errors")
    if recorded is None:
        return sysbench.MYSQL_IGNORED_ERRORS
    return tuple(int(number) for number in recorded.split(",") if number.strip())


def _shell(words: Sequence[str]) -> str:
    """The command over several lines: program and workload, then one option a line."""
    shown = []
    for word in words:
        option, separator, _ = word.partition("=")
        placeholder = _PLACEHOLDERS.get(option) if separator else None
        shown.append(f"{option}={placeholder}" if placeholder else word)
    return " \\\n    ".join((" ".join(shown[:2]), *shown[2:]))
