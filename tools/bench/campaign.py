"""The same campaigns twice: as a DAG, and as the plain script ``campaign.sh``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from upath import UPath

from benchlab import engines
from benchlab.campaign import overrides, report_types
from benchlab.engines.database import written
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.results.store import Store
from benchlab.workloads.sysbench import Tables
from benchlab_airflow.local.airflow_home import AirflowHome
from tools.bench.machine import alone, timed
from tools.bench.row import Row, ratio

REPORT = "sysbench_local"
SCRIPT = Path(__file__).with_name("campaign.sh")
RECORDED = (
    Path(__file__).parents[2] / "tests" / "golden" / "sysbench" / "sysbench_point_select_t4.txt"
)
COMMAND_TARGET = 1.12
RUN_TARGET = 1.08
GROWTH_TARGET_S = 0.15

# 4 workloads x 1 thread count x 3 rounds x 2 sides = 24 trials of 5 s; the dataset and the
# versions are the report type's. With a seed the plan is the same whatever the campaign's id.
COMMON = (
    *("engine=mariadb", "threads=4", "warmup_seconds=1", "restore=every_trial", "seed=1"),
    "deployments=1",
    "load_balancer=haproxy",
)
FULL = (
    "workloads=oltp_point_select,oltp_read_write,oltp_update_index,oltp_update_non_index",
    "rounds=3",
    "seconds=5",
)
QUICK = ("workloads=oltp_point_select,oltp_update_index", "rounds=1", "seconds=2")
# 120 trials whose client prints at once what a run of 5 s printed.
MANY = ("workloads=oltp_point_select", "rounds=60", "seconds=5")
MANY_QUICK = ("workloads=oltp_point_select", "rounds=3", "seconds=5")


@dataclass(frozen=True)
class DagTimes:
    """Seconds of the whole command, of Airflow's run within it, and of a trial in the mean."""

    command: float
    run: float
    trial: float


@dataclass(frozen=True)
class ScriptTimes:
    """Seconds of the whole script, and of a trial in the mean."""

    whole: float
    trial: float


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """Run both, one after the other; the first pays for cold caches, and it is the DAG."""
    assignments = [*COMMON, *(QUICK if quick else FULL)]
    spec, plan = _spec(home, assignments), planned(assignments)
    for side in SIDES:
        engines.install(plan.engine, plan.sides[side].version, home)
    dag = time_dag(home, work, assignments, len(plan.trials), os.environ)
    script = time_script(home, work, spec, plan, os.environ)
    name = f"{len(plan.trials)} trials of {spec.seconds} s"
    # A few short trials do not outweigh Airflow's start: no target for them.
    targets = (None, None) if quick else (COMMAND_TARGET, RUN_TARGET)
    plain = ("plain script", [script.whole])
    return [
        ratio(f"{name}, whole command", ("demo command", [dag.command]), plain, targets[0]),
        ratio(f"{name}, the run alone", ("Airflow's run", [dag.run]), plain, targets[1]),
        measure_growth(home, work, quick),
    ]


def measure_growth(home: Home, work: Path, quick: bool) -> Row:
    """How much longer a trial takes in the DAG, from its start to the next one's."""
    assignments = [*COMMON, *(MANY_QUICK if quick else MANY)]
    spec, plan = _spec(home, assignments), planned(assignments)
    env = {**os.environ, "PATH": f"{_simulated_client(work)}{os.pathsep}{os.environ['PATH']}"}
    dag = time_dag(home, work, assignments, len(plan.trials), env)
    script = time_script(home, work, spec, plan, env)
    return Row(
        name=f"growth per trial, {len(plan.trials)} trials",
        compared=f"a trial without a client: Airflow's run ({dag.trial:.3g} s) minus plain script "
        f"({script.trial:.3g} s)",
        figure=dag.trial - script.trial,
        unit="s",
        target=None if quick else GROWTH_TARGET_S,
        seconds={"Airflow's run": [dag.trial], "plain script": [script.trial]},
    )


def _simulated_client(work: Path) -> Path:
    """A folder with a `sysbench` that loads as the real one, and whose runs take no time."""
    folder = work / "simulated"
    folder.mkdir(parents=True, exist_ok=True)
    client = folder / "sysbench"
    client.write_text(
        "#!/bin/sh\n"
        f'for word; do [ "$word" != run ] || exec cat {shlex.quote(str(RECORDED))}; done\n'
        f'exec {shlex.quote(shutil.which("sysbench") or "sysbench")} "$@"\n'
    )
    client.chmod(0o755)
    return folder


def time_dag(
    home: Home, work: Path, assignments: list[str], trials: int, env: Mapping[str, str]
) -> DagTimes:
    """The campaign through Airflow, with a home of its own that uses the same servers.

    Raises:
        BenchlabError: it failed, or measured more trials than were planned.
    """
    own = _own_home(home, work)
    env = {
        **env,
        "BENCHLAB_PROJECT": str(home.project),
        "BENCHLAB_HOME": str(own.root),
        "BENCHLAB_STORE_URL": _store_url(own),
        "BENCHLAB_OBJECTS": str(own.root / "objects"),
    }
    airflow = AirflowHome(own.root)
    airflow.ensure()
    command = [sys.executable, "-m", "benchlab_airflow.local.demo", REPORT]
    for assignment in assignments:
        command += ["--set", assignment]
    with alone(home):
        pass  # the demo takes the machine itself, and is to find it free
    seconds = timed(command, env, work / "dag.log")
    begun = _refuse_other_than(trials, own)
    return DagTimes(seconds, _run_seconds(airflow), _mean_step(begun))


def time_script(
    home: Home, work: Path, spec: ReportSpec, plan: Plan, env: Mapping[str, str]
) -> ScriptTimes:
    """The campaign as a plain script, the trials in the plan's order.

    Raises:
        BenchlabError: a step failed.
    """
    directory = work / "script"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    trials = directory / "trials"
    trials.write_text(
        "".join(f"{t.id} {t.side} {t.workload} {t.threads} {t.seconds}\n" for t in plan.trials)
    )
    servers = home.servers / plan.engine
    assert isinstance(spec.dataset, Tables)
    env = {
        **env,
        "BASELINE": str(servers / plan.sides["baseline"].version),
        "CANDIDATE": str(servers / plan.sides["candidate"].version),
        "TABLES": str(spec.dataset.tables),
        "ROWS": str(spec.dataset.table_size),
        "WARMUP": str(spec.warmup_seconds),
        "PARAMETERS": _option_lines(plan),
    }
    with alone(home):
        seconds = timed(
            ["bash", str(SCRIPT), str(directory), str(trials)], env, work / "script.log"
        )
    outputs = list((directory / "output").glob("*.txt"))
    complete = [path for path in outputs if "total time:" in path.read_text()]
    if len(complete) != len(plan.trials):
        raise BenchlabError(f"{directory}: {len(complete)} of {len(plan.trials)} trials complete")
    return ScriptTimes(seconds, _mean_step(path.stat().st_mtime for path in outputs))


def _mean_step(moments: Iterable[float]) -> float:
    """The mean time from one trial to the next, whatever came before the first one."""
    ordered = sorted(moments)
    return (ordered[-1] - ordered[0]) / (len(ordered) - 1)


def _spec(home: Home, assignments: list[str]) -> ReportSpec:
    spec = report_types.load(report_types.find_report(home, REPORT))
    return overrides.override(spec, overrides.parse_assignments(assignments))


def planned(assignments: list[str]) -> Plan:
    """The plan that `benchlab plan` prints for the options.

    Raises:
        BenchlabError: it refuses them.
    """
    command = [sys.executable, "-m", "benchlab.cli.main", "plan", REPORT, "--json"]
    for assignment in assignments:
        command += ["--set", assignment]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise BenchlabError(f"benchlab plan {REPORT}: {done.stderr}")
    document = json.loads(done.stdout)
    # Beside the plan it says what a campaign by it would find.
    del document["sensitivity"]
    return Plan.from_json(document)


def _option_lines(plan: Plan) -> str:
    """The parameters of the sides, which are the same for both, as lines of my.cnf."""
    baseline, candidate = (plan.sides[side].parameters for side in SIDES)
    assert baseline == candidate
    return "\n".join(f"{key}={written(value)}" for key, value in baseline.items())


def _own_home(home: Home, work: Path) -> Home:
    """A home whose campaigns are in nobody's results; the servers are the installation's.

    Airflow's database stays from run to run, the results do not.
    """
    own = Home(home.project, work / "home")
    own.root.mkdir(parents=True, exist_ok=True)
    for name in ("campaigns", "objects", "reports"):
        shutil.rmtree(own.root / name, ignore_errors=True)
    for database in own.root.glob("results.db*"):
        database.unlink()
    own.servers.unlink(missing_ok=True)
    own.servers.symlink_to(home.servers, target_is_directory=True)
    return own


def _store_url(own: Home) -> str:
    return f"sqlite:///{own.root}/results.db"


def _refuse_other_than(trials: int, own: Home) -> list[float]:
    """When each trial began; a pair of blocks that was measured again would count as overhead."""
    with Store(_store_url(own), UPath(own.root / "objects")) as store:
        measured = store.trials(store.campaign_ids()[0])
    if len(measured) != trials:
        raise BenchlabError(
            f"the DAG measured {len(measured)} trials instead of {trials}: some were invalid and "
            "were measured again, so the times do not compare; run it once more on a quieter "
            "machine"
        )
    return [result.started_at.timestamp() for result in measured]


def _run_seconds(airflow: AirflowHome) -> float:
    """How long Airflow's latest run took.

    From `created_at`: `airflow dags test` sets `start_date` to the run's logical date.
    """
    with closing(sqlite3.connect(airflow.database)) as database:
        ((begin, end),) = database.execute(
            "SELECT created_at, end_date FROM dag_run ORDER BY id DESC LIMIT 1"
        )
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
