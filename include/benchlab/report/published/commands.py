"""The commands of a published page's plan, written anew from what the page records of it.

A page's own command may have an option that its client does not have, or an address that its plan
does not name; here every option is one that the client has, and the entry point a placeholder. What
of the page's options is not written anew is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.published.client_options import SYSBENCH_SCRIPTS
from benchlab.published.model import Command, PublishedReport
from benchlab.report.published import kept_options
from benchlab.report.published.kept_options import Action

ACTIONS: tuple[Action, ...] = ("prepare", "run")
TOOLS = ("sysbench", "tiup bench tpcc", "go-tpc tpcc", "go-tpc")


@dataclass(frozen=True)
class Rebuilt:
    """A command and what it does.

    Attributes:
        left_out: options of the page's commands that it does not have, as ``--config-file``;
            without those that the plan or the entry point replaces.
    """

    action: Action
    text: str
    left_out: tuple[str, ...]


def rebuilt(report: PublishedReport) -> tuple[Rebuilt, ...]:
    """The commands that load and that run, where the page prints one and records its values."""
    found: list[Rebuilt] = []
    for action in ACTIONS:
        recorded = [each for each in report.setting.commands if _does(each, action)]
        if recorded:
            first = kept_options.client_of(recorded[0])
            alike = [each for each in recorded if kept_options.client_of(each) == first]
            found += _written(report, alike, action)
    return tuple(found)


def _written(
    report: PublishedReport, recorded: Sequence[Command], action: Action
) -> Iterator[Rebuilt]:
    """One command for all workloads; where they have other options each its own."""
    chosen = [kept_options.of(each, action, report) for each in recorded]
    scripts = _scripts(recorded) if any(c.kept != chosen[0].kept for c in chosen) else ()
    if scripts and action == "run":
        each = zip(recorded, scripts, chosen, strict=True)
        left_out = tuple(dict.fromkeys(name for c in chosen for name in c.left_out))
    else:
        common = kept_options.of_all(chosen)
        each = zip(recorded[:1], ["${WORKLOAD}"], [common], strict=True)
        left_out = common.left_out
    texts = [
        " \\\n    ".join(words)
        for command, script, options in each
        if (words := tuple(_words(report, command, action, script, options.written)))
    ]
    if texts:
        yield Rebuilt(action, "\n\n".join(texts), tuple(f"--{name}" for name in left_out))


def _scripts(commands: Sequence[Command]) -> tuple[str, ...]:
    """sysbench's own script of each; nothing where one has another, or two have the same."""
    named = [SYSBENCH_SCRIPTS.intersection(each.text.split()) for each in commands]
    found = tuple(next(iter(each)) for each in named if len(each) == 1)
    return found if len(set(found)) == len(commands) else ()


def _words(
    report: PublishedReport, recorded: Command, action: Action, script: str, kept: Sequence[str]
) -> Iterator[str]:
    if kept_options.client_of(recorded) == "sysbench":
        script = "oltp_common" if action == "prepare" else script
        return _sysbench(report, recorded, action, script, kept)
    return _go_tpc(report, recorded, action, kept)


def _does(command: Command, action: Action) -> bool:
    return command.tool in TOOLS and action in command.text.split()


def _sysbench(
    report: PublishedReport, recorded: Command, action: Action, script: str, kept: Sequence[str]
) -> Iterator[str]:
    setting = report.setting
    seconds = setting.seconds or setting.stated_seconds
    if setting.tables is None or setting.table_size is None or (action == "run" and not seconds):
        return
    yield f"sysbench {script}"
    yield "--db-driver=mysql"
    yield "--mysql-host=${HOST}"
    yield "--mysql-port=${PORT}"
    yield "--mysql-user=${USER}"
    yield "--mysql-password=${PASSWORD}"
    yield "--mysql-db=sbtest"
    yield f"--tables={setting.tables}"
    yield f"--table-size={setting.table_size}"
    yield f"--threads={_load_threads(recorded, action)}"
    yield from kept
    if action == "run":
        yield f"--time={seconds}"
    yield action


def _go_tpc(
    report: PublishedReport, recorded: Command, action: Action, kept: Sequence[str]
) -> Iterator[str]:
    setting = report.setting
    seconds = setting.seconds or setting.stated_seconds
    if setting.warehouses is None or (action == "run" and not seconds):
        return
    program = "tiup bench" if recorded.tool.startswith("tiup") else "go-tpc"
    yield f"{program} tpcc {action}"
    yield "--host ${HOST}"
    yield "--port ${PORT}"
    yield "--user ${USER}"
    yield "--password ${PASSWORD}"
    yield "--db tpcc"
    yield f"--warehouses {setting.warehouses}"
    yield f"--threads {_load_threads(recorded, action)}"
    yield from kept
    if action == "run":
        yield f"--time {seconds}s"


def _load_threads(recorded: Command, action: Action) -> str:
    """How many threads load, where a number is printed; those of a run differ from run to run."""
    printed = kept_options.all_of(recorded).get("threads") or ""
    return printed if action == "prepare" and printed.isdecimal() else "${THREADS}"
