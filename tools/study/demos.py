"""Campaigns like the demo's, in which the truth is known, on this machine and with real servers.

Both sides are one release of MariaDB. In ``alike`` nothing differs, and whatever is called a change
is a false alarm. In the others the candidate's data or its client were changed beforehand:

* ``planted``: a trigger writes one row more in every 20th update of an indexed column; a range
  select returns 3 % more rows; the index of a range is ignored;
* ``index``: a further index on a column that is updated. It shows in the log, so that these
  campaigns have trials at equal load as well.

::

    python -m tools.study.demos 10       # ten of each; goes on where it was interrupted
    python -m tools.study.demos 10 alike

After each campaign ``build/study/demos.md`` says what all of them found. Nothing else should run on
the machine meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchlab import home
from benchlab.campaign import trial as trial_module
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.preparation import Deployments
from benchlab.cli.main import app
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side

REPORT_TYPE = "sysbench_local"
VERSION = "10.11.5"
ALIKE = "alike"
CHANGES = ("regression", "improvement")


@dataclass(frozen=True)
class Kind:
    """A kind of campaign.

    Attributes:
        settings: fields of the report type.
        plants: what is planted, by the workload in which it has to be found.
        statements: SQL that plants it on the candidate, for each table.
        option: for the candidate's client, in its one range workload.
    """

    settings: Mapping[str, str]
    plants: Mapping[str, str]
    statements: Sequence[str] = ()
    option: str = ""


TRIGGER = (
    "CREATE TABLE log_of_{table} (id INT);\nDELIMITER //\n"
    "CREATE TRIGGER planted_{table} AFTER UPDATE ON {table} FOR EACH ROW "
    "IF NEW.k <> OLD.k AND NEW.id % 20 = 0 THEN INSERT INTO log_of_{table} VALUES (NEW.id); "
    "END IF//\nDELIMITER ;"
)
RANGES = "oltp_read_only"
KINDS = {
    ALIKE: Kind({"sides": "same"}, {}),
    "planted": Kind(
        {"workloads": f"[oltp_update_index, {RANGES}, select_random_ranges]"},
        {
            "oltp_update_index": "trigger",
            RANGES: "larger result",
            "select_random_ranges": "worse plan",
        },
        (TRIGGER, "ALTER TABLE sbtest1 ALTER INDEX k_1 IGNORED"),
        "--range-size=103",
    ),
    "index": Kind(
        {"workloads": "[oltp_update_non_index]", "rate": "60 %"},
        {"oltp_update_non_index": "extra index", "oltp_update_non_index_at_60pct": "extra index"},
        ("CREATE INDEX planted ON {table} (c)",),
    ),
}


def plant(kind: Kind) -> None:
    """Have every campaign of this process planted on its candidate."""
    analyze, command = Deployments.analyze, trial_module.run_command

    def planted(self: Deployments, side: Side) -> None:
        if side == "candidate":
            engine = self._start(side)
            for table in self.spec.dataset.rows_by_table:
                for statement in kind.statements:
                    if "{table}" in statement or table == "sbtest1":
                        engine.query(statement.format(table=table))
        analyze(self, side)

    def with_option(setup: TrialSetup, trial: PlannedTrial, seconds: int) -> list[str]:
        made = command(setup, trial, seconds)
        mine = kind.option and (trial.side, trial.workload) == ("candidate", RANGES)
        return [*made[:-1], kind.option, made[-1]] if mine else made

    Deployments.analyze = planted  # type: ignore[method-assign]
    trial_module.run_command = with_option


def run(name: str, campaign: str) -> None:
    """Run one campaign of a kind, or what is left of it."""
    kind = KINDS[name]
    settings = {"baseline": VERSION, "candidate": VERSION, **kind.settings}
    if name != ALIKE:
        # Sides with nothing to tell them apart are refused.
        settings["engines.mariadb.candidate.parameters"] = "{lock_wait_timeout: 86401}"
        plant(kind)
    assignments = [f"--set={key}={value}" for key, value in settings.items()]
    app(["run", REPORT_TYPE, "--campaign", campaign, *assignments], standalone_mode=False)


@dataclass(frozen=True)
class Decided:
    """One decision of a campaign."""

    workload: str
    metric: str
    verdict: str
    half_width: float | None


def decisions(report: Mapping[str, Any]) -> Iterator[Decided]:
    """All decisions in a campaign's ``report.json``, throughput first in each workload."""
    for workload in report["workloads"]:
        for one in (workload, *workload.values()):
            if isinstance(one, dict) and "verdict" in one:
                low, high = one["ci95_pct"] or (None, None)
                half = None if low is None or high is None else (high - low) / 2
                yield Decided(workload["name"], one["metric"], one["verdict"], half)


def page(reports: Mapping[str, Sequence[Sequence[Decided]]]) -> str:
    """What campaigns found, by their kind, as Markdown."""
    lines = []
    if alike := reports.get(ALIKE, ()):
        false = [
            f"{one.workload} {one.metric}" for own in alike for one in own if one.verdict in CHANGES
        ]
        widths: dict[str, list[float]] = {}
        for one in (one for own in alike for one in own):
            if one.half_width is not None:
                widths.setdefault(one.metric, []).append(one.half_width)
        lines += [
            f"{len(alike)} campaigns in which nothing differs: {len(false)} false changes"
            + (f" ({', '.join(false)})" if false else ""),
            "",
            "| metric | decisions | median half-width of the interval, % |",
            "| --- | ---: | ---: |",
            *(f"| {name} | {len(all_)} | {median(all_):.2f} |" for name, all_ in widths.items()),
            "",
        ]
    lines += [
        "| planted | workload | campaigns | found by throughput | found by each metric |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for name, made in reports.items():
        for workload, what in KINDS[name].plants.items():
            own = [[one for one in report if one.workload == workload] for report in made]
            metrics = dict.fromkeys(one.metric for report in own for one in report)
            hits = {
                metric: sum(
                    one.metric == metric and one.verdict in CHANGES for each in own for one in each
                )
                for metric in metrics
            }
            told = ", ".join(f"{metric} {count}" for metric, count in hits.items())
            lines.append(f"| {what} | {workload} | {len(own)} | {hits.get('tps', 0)} | {told} |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str]) -> int:
    """Run campaigns that are missing, one process each, and write the page after each."""
    if arguments[:1] == ["one"]:
        run(*arguments[1:])
        return 0
    count, kinds = int(arguments[0]), arguments[1:] or list(KINDS)
    here = home.find()
    reports: dict[str, list[list[Decided]]] = {kind: [] for kind in kinds}
    for number in range(1, count + 1):
        for kind in kinds:
            campaign = f"study-{kind}-{number}"
            path = here.reports / campaign / "report.json"
            if not path.exists():
                command = [sys.executable, "-m", "tools.study.demos", "one", kind, campaign]
                # It fails as well where not everything could be measured; the report says so.
                code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
                if not path.exists():
                    print(f"error: {campaign} ended with exit code {code}", file=sys.stderr)
                    return 1
            reports[kind].append(list(decisions(json.loads(path.read_text()))))
            folder = here.project / "build" / "study"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "demos.md").write_text(page(reports))
    print((here.project / "build" / "study" / "demos.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
