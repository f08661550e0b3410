"""The command line prints what was asked for, and refuses what it cannot do in one message."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import quote

import pytest
import yaml
from typer.main import get_command

from benchlab import targets
from benchlab.cli import main
from benchlab.errors import meaning_of
from benchlab.hosts.lock import MachineLock
from benchlab.results.store import Store
from benchlab.targets.cloud import lease_file
from benchlab.targets.target import Taken
from tests.builders import campaigns, tidb_cloud
from tests.builders.installation import PROGRAM, ROOT, Here

CA = '{"ca": "/etc/hostname"}'
GOLDEN = ROOT / "tests" / "golden" / "sysbench"

# ---------------------------------------------------------------- validate


def shipped(name: str, **fields: Any) -> dict[str, Any]:
    """The fields of a report type of the house, but its name, with other values."""
    text = (ROOT / "configs" / "reports" / f"{name}.yaml").read_text()
    return {key: value for key, value in (yaml.safe_load(text) | fields).items() if key != "report"}


def test_valid_report_types_are_reported_as_good(here: Here) -> None:
    """All that these tests have, each by its path."""
    files = sorted((ROOT / "configs" / "reports").glob("*.yaml"))
    done = here.run("validate", *files)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"{path}: good" for path in files]
    assert done.stderr == ""


def test_each_bad_input_is_refused_naming_the_field_and_what_to_do(here: Here) -> None:
    """All bad inputs of a report type in one call, with a good one, which stays good."""
    same = {"mariadb": {"baseline": {"version": "10.2.11"}, "candidate": {"version": "10.2.11"}}}
    bad: dict[str, tuple[dict[str, Any], str]] = {
        "unknown_key": ({"thread": [4]}, "thread: unknown key; is it misspelt?"),
        "unknown_workload": ({"workloads": ["oltp_x"]}, "workloads: unknown: oltp_x; known: "),
        "threads_zero": ({"threads": [0]}, "threads.0: must be at least 1"),
        "threads_million": ({"threads": [10**6]}, "threads.0: must be at most"),
        "duration_zero": ({"seconds": 0}, "seconds: must be at least 1"),
        "empty_sweep": ({"threads": []}, "threads: "),
        "same_sides": ({"engines": same}, "write `sides: same` (an A/A campaign)"),
        "not_a_version": (
            {"engines": {"mariadb": {**same["mariadb"], "candidate": {"version": "new"}}}},
            "engines.mariadb.candidate.version: 'new' is not a version; write v6.5.0 for TiDB",
        ),
        "missing": ({"restore": ...}, "restore: missing; it must be set"),
        "tpcc_old": (
            shipped("tpcc_local", client={"program": "tiup", "version": "v1.5.1"}),
            "client.version: tiup bench v1.5.1: Benchlab reads the output of v1.12.0 and later",
        ),
        "no_topology": (
            shipped("sysbench_hosts", topology="nosuch"),
            "topology: nosuch: there is no ",
        ),
    }
    paths = [here.report(name, **fields) for name, (fields, _) in bad.items()]
    done = here.program("validate", *paths, here.report("good"), here.path / "nothing.yaml")
    assert done.returncode == 1
    assert done.stdout == f"{here.path}/good.yaml: good\n"
    for name, (_, message) in bad.items():
        assert f"{here.path}/{name}.yaml: {message}" in done.stderr or (
            name == "same_sides" and message in done.stderr
        ), name
    assert f"{here.path}/nothing.yaml: cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_topology_is_told_from_a_report_type(here: Here) -> None:
    """Benchlab's is checked as what it is; TiUP's is refused in one sentence, wherever it lies."""
    topologies = here.home.configs / "topologies"
    assert here.run("validate", *topologies.iterdir()).stdout.count(": good\n") == 6
    assert "is a topology, not a report type" in here.refused(
        "plan", topologies / "hosts_published.yaml"
    )
    path = topologies / "of_tiup.yaml"
    of_tiup = "pd_servers:\n - host: 10.0.0.10\n", "server_configs: {tidb: {log.level: warn}}"
    for text in of_tiup:
        path.write_text(f"global: {{user: tidb}}\n{text}")
        for command in (
            ("validate", path),
            ("plan", path),
            ("plan", "sysbench_hosts", "--set", "topology=of_tiup"),
        ):
            (said,) = here.refused(*command).splitlines()
            assert f"{path}: is a topology file of TiUP" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster", "kind: must be one of ec2, hosts"),
        ("user: tidb\nhosts: [{name: a, address: 10.0.0.1}]", "kind: must be one of ec2, hosts"),
        ("all: {hosts: {h1: {ansible_host: 10.0.0.1}}}", "is no report type: it has none of the"),
        ("services: {tidb: {image: pingcap/tidb}}", "is no report type: it has none of the"),
    ],
)
def test_a_file_of_another_program_is_refused_in_one_sentence(
    here: Here, text: str, said: str
) -> None:
    """It does not lack all the fields of a report type; it is none."""
    path = here.path / "other.yaml"
    path.write_text(text)
    (line,) = here.refused("validate", path).splitlines()
    assert f"{path}: {said}" in line


@pytest.mark.parametrize("text", ["a: [", "", "a: 1\na: 2", "? [a]\n: b", "\x00"])
def test_a_file_that_is_not_a_report_type_is_refused(here: Here, text: str) -> None:
    """Without a traceback, whatever the file contains."""
    path = here.path / "bad.yaml"
    path.write_text(text)
    assert str(path) in here.refused("validate", path)


# ---------------------------------------------------------------- plan


def test_the_plan_as_json_has_the_promised_shape(here: Here) -> None:
    """Every promised field with its type, and the overridden values."""
    done = here.run("plan", here.report(), "--json", "--set", "rounds=2", "--set", "threads=2,8")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert set(plan) >= {
        *("report", "engine", "target", "sides", "rounds", "seed", "trials", "hosts"),
        *("minutes", "dollars", "disk_gib", "steps"),
    }
    assert (plan["report"], plan["engine"], plan["target"]) == ("good", "mariadb", "local")
    assert plan["sides"]["baseline"]["version"] == "10.2.11"
    assert plan["sides"]["candidate"]["version"] == "10.11.5"
    assert plan["rounds"] == 2
    assert len(plan["trials"]) == 2 * 2 * 2 * 2
    first = plan["trials"][0]
    assert {key: type(value) for key, value in first.items()} == {
        "index": int,
        "round": int,
        "side": str,
        "workload": str,
        "threads": int,
        "restore": bool,
        "seconds": int,
    }
    assert plan["hosts"] == [{"role": "all", "instance_type": None, "vcpu": None}]
    assert plan["dollars"] is None
    assert plan["minutes"] > 0
    assert plan["disk_gib"] > 0


def test_the_plan_for_people_says_what_will_happen(here: Here) -> None:
    """Engine and why, versions, number of trials, minutes, disk, and every trial in order."""
    done = here.run("plan", "sysbench_local")
    assert done.returncode == 0, done.stderr
    for part in (
        *("engine: tidb is not available", "baseline 10.2.11, candidate 10.11.5"),
        *("48 trials", "minutes", "GiB of disk", "nothing is rented"),
    ):
        assert part in done.stdout
    assert len([line for line in done.stdout.splitlines() if " · " in line]) == 48


def test_a_campaign_above_the_budget_needs_approval(here: Here) -> None:
    """Nothing is written to the store, and the message has the figures."""
    done = here.run("run", "sysbench_ec2")
    assert done.returncode == 1
    for part in ("dollars in", "hours", "without approval (20)", "--approve"):
        assert part in done.stderr
    assert json.loads(here.run("campaigns", "--json").stdout)["campaigns"] == []


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["nosuch"], ["nosuch: no such file", "sysbench_local"]),
        (["sysbench_local", "--set", "rounds"], ["--set rounds: write it as field=value"]),
        (["sysbench_local", "--set", f"seed={'[' * 3000}"], ["--set seed: not YAML", "bracket"]),
        (["sysbench_local", "--set", "seed={a: 1, a: 2}"], ["the key 'a' occurs twice"]),
        (["sysbench_local", "--set", "threads=0"], ["threads.0: "]),
        (["sysbench_local", "--set", "threads=1000000"], ["threads.0: "]),
        (["sysbench_local", "--set", "seconds=0"], ["seconds: "]),
        (["sysbench_local", "--set", "colour=red"], ["colour: unknown key"]),
        (["sysbench_local", "--set", "candidate=1"], ["candidate: '1' is not a version"]),
        (["sysbench_local", "--set", "engine=oracle"], ["engine: oracle has no entry"]),
        (["sysbench_local", "--set", "engine=tidb"], ["TiDB v6.1.0", "tiup"]),
        (["sysbench_local", "--set", "workloads=oltp_x"], ["oltp_x; known: ", "oltp_insert"]),
    ],
)
def test_what_cannot_be_planned_is_refused(
    here: Here, arguments: list[str], messages: list[str]
) -> None:
    """One message names the field and the alternatives; nothing is written."""
    said = here.refused("plan", *arguments)
    assert all(message in said for message in messages)
    assert not (here.home.root / "results.db").exists()


def test_an_unavailable_version_is_refused_with_how_to_get_it(here: Here) -> None:
    """Without the server and Maven, the message names both."""
    path = os.pathsep.join(str(Path(p).parent) for p in (sys.executable,))
    said = here.refused("plan", "sysbench_local", "--set", "candidate=11.4.5", PATH=path)
    assert "MariaDB 11.4.5 is not installed and `mvn` is missing: run `make setup`" in said


def test_gates_that_cannot_be_read_are_refused_before_anything_starts(here: Here) -> None:
    """Not in the first trial, after hours of loading."""
    gates = here.home.configs / "quality" / "symptoms.yaml"
    gates.write_text(gates.read_text() + "nonsense: 1\n")
    assert str(gates) in here.refused("run", "sysbench_local", "--campaign", "unjudged")
    assert "unjudged" not in here.run("campaigns").stdout
    assert not here.home.campaign("unjudged").exists()


# ---------------------------------------------------------------- help, completion


def test_the_help_has_a_line_for_each_command(here: Here) -> None:
    """In parts, on a terminal of 80 columns; and no command's own help is wider."""
    listed = here.run("--help", COLUMNS="80").stdout
    for name in (name for module in main.COMMANDS.values() for name in module):
        assert re.search(rf"^│ {name} +[A-Z].*\. *│$", listed, re.MULTILINE), name
    for part in ("Measure", "Read the answers", "Publish", "Keep it running"):
        assert f"─ {part} ─" in listed
    said = here.run("give-back", "--help", COLUMNS="80").stdout
    assert "Example: benchlab give-back CAMPAIGN" in said


def test_a_shell_completes_what_there_is(stored: Here) -> None:
    """Commands, report types, campaigns, workloads and versions, as bash asks for them."""
    lines = {
        "benchlab fin": "findings",
        "benchlab plan sysbench_ec2_w": "sysbench_ec2_watch sysbench_ec2_weekly",
        "benchlab compare c": "c1",
        "benchlab history oltp_point": "oltp_point_select",
        "benchlab campaigns --version 10.11": "10.11.5",
    }
    script = """
    source <(benchlab --show-completion bash)
    while read -r line; do
        COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        _benchlab_completion benchlab; echo "${COMPREPLY[*]}"
    done"""
    done = subprocess.run(
        ["bash", "-c", script],
        input="\n".join([*lines, ""]),
        env={**stored.environment, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [*lines.values()], done.stderr


# ---------------------------------------------------------------- parse


def test_an_output_as_json_has_the_promised_shape(here: Here) -> None:
    """The golden JSON, for a good and for a broken output; absent values are null."""
    for name in ("sysbench_read_write_t4", "sysbench_killed_midrun"):
        done = here.run("parse", "sysbench", GOLDEN / f"{name}.txt", "--json")
        assert done.returncode == (name == "sysbench_killed_midrun")
        assert json.loads(done.stdout) == json.loads((GOLDEN / f"{name}.json").read_text())
    assert json.loads(done.stdout)["status"] == "failed"
    assert json.loads(done.stdout)["tps"] is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_output_that_a_windows_shell_wrote_is_read(here: Here, encoding: str) -> None:
    """With a byte order mark, and perhaps two bytes for each character."""
    printed = (GOLDEN / "sysbench_read_write_t4.txt").read_text()
    (path := here.path / "out.txt").write_text(printed.replace("\n", "\r\n"), encoding, newline="")
    done = here.run("parse", "sysbench", path, "--json")
    expected = json.loads((GOLDEN / "sysbench_read_write_t4.json").read_text())
    assert json.loads(done.stdout) == expected


def test_an_output_for_people_is_short(here: Here) -> None:
    """A line per figure, without the series."""
    done = here.run("parse", "sysbench", GOLDEN / "sysbench_read_write_t4.txt")
    assert "status: complete" in done.stdout.splitlines()
    assert "tps: 514.33" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "series: 5 intervals"


def test_what_is_no_result_is_said_in_words_and_is_a_failure(here: Here) -> None:
    """Reasons are sentences, what is not known is left out, and nothing is in Python's words."""
    done = here.run("parse", "sysbench", GOLDEN / "sysbench_killed_midrun.txt")
    assert done.returncode == 1
    status, *reasons = done.stdout.splitlines()
    assert status == "status: failed"
    assert "  The output ends without a summary." in reasons
    assert not [word for word in ("None", "null", "[", "{") if word in done.stdout]


def test_a_missing_output_file_is_named(here: Here) -> None:
    """By its path."""
    assert "nothing.txt: cannot be read" in here.refused("parse", "sysbench", "nothing.txt")
    assert str(here.path) in here.refused("parse", "sysbench", here.path)


# ---------------------------------------------------------------- compare and render


@pytest.mark.parametrize("command", [["compare"], ["compare", "--json"], ["render"]])
def test_an_unknown_campaign_is_named_with_the_known_ones(stored: Here, command: list[str]) -> None:
    """Even if the store is empty."""
    assert "no campaign 'nosuch'" in (said := stored.refused(*command, "nosuch"))
    assert "the latest ones are: c1" in said
    empty = stored.refused(*command, "nosuch", BENCHLAB_HOME=str(stored.path / "empty"))
    assert "it is empty" in empty


def test_a_stored_campaign_is_compared(stored: Here) -> None:
    """The verdicts, for people and as JSON."""
    done = stored.run("compare", "c1")
    assert done.returncode == 0, done.stderr
    assert "regression" in done.stdout
    assert "\x1b" not in done.stdout
    document = json.loads(stored.run("compare", "c1", "--json").stdout)
    assert "regression" in json.dumps(document)
    assert json.loads(stored.run("campaigns", "--json").stdout)["campaigns"][0]["id"] == "c1"


@pytest.mark.parametrize(
    ("form", "begins"),
    [("md", "---\n"), ("html", "<!doctype html>"), ("csv", "workload,"), ("json", "{")],
)
def test_a_report_is_rebuilt_from_the_store(stored: Here, form: str, begins: str) -> None:
    """In each format, and twice the same."""
    done = stored.run("render", "c1", "--format", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().startswith(begins)
    assert stored.run("render", "c1", "--format", form) == done


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("render c1 --format", "'md', 'html', 'csv', 'json'"),
        ("compare c1 --format", "'github'"),
        ("releases update --from", "'tiup'"),
    ],
)
def test_an_unknown_word_is_refused_with_the_known_ones(
    here: Here, command: str, known: str
) -> None:
    """As wrong usage, with exit code 2, and in no words of the library that checks it."""
    done = here.run(*command.split(), "markdown")
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    option = command.rpartition(" ")[2]
    assert f"Invalid value for '{option}': 'markdown' is not one of {known}." in said


def test_a_pipe_that_closes_early_is_not_an_error(here: Here) -> None:
    """`benchlab plan ... | head -c 1` prints nothing on stderr."""
    with subprocess.Popen(
        ["sh", "-c", f"'{PROGRAM}' plan sysbench_local --set rounds=999 | head -c 1"],
        env=here.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as pipe:
        assert pipe.communicate() == (b"s", b"")


def test_a_store_that_cannot_be_reached_is_named_without_its_password(here: Here) -> None:
    """The URL has stars in the password's place."""
    url = "mysql+pymysql://bench:hunter2@127.0.0.1:1/results"
    said = here.refused("campaigns", BENCHLAB_STORE_URL=url)
    assert "mysql+pymysql://bench:***@127.0.0.1:1/results" in said
    assert "hunter2" not in said
    assert "BENCHLAB_STORE_URL" in here.refused("campaigns", BENCHLAB_STORE_URL="hunter2")


# ---------------------------------------------------------------- doctor and release


def test_doctor_says_what_is_missing_and_how_to_get_it(here: Here) -> None:
    """With the tools of any Debian alone, others are named with their packages; exit code 1."""
    tools = here.path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "date", "stat", "id", "flock", "head", "tr"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = here.run("doctor", PATH=f"{Path(sys.executable).parent}{os.pathsep}{tools}")
    assert done.returncode == 1
    for tool, package in (
        ("sysbench", "sysbench"),
        ("haproxy", "haproxy"),
        ("mariadb", "mariadb-client"),
    ):
        assert (
            f"MISS  {tool}: not found; `make setup`, or `apt-get install {package}`" in done.stdout
        )
    assert "ok    machine: free: no campaign holds it" in done.stdout
    assert "ok    report type sysbench_local: can run, with mariadb" in done.stdout
    assert "tidb v6.5.0" in done.stdout


def test_doctor_names_broken_report_types_and_the_holder(here: Here) -> None:
    """A broken file does not hide the rest; a broken lock is also named."""
    shutil.copy(here.report("bad", threads=[0]), here.path / "configs" / "reports")
    (here.path / "lock").write_text("{")
    done = here.run("doctor")
    assert done.returncode == 1
    assert "MISS  report type bad: " in done.stdout
    assert "threads.0" in done.stdout
    assert "ok    report type sysbench_local" in done.stdout
    assert str(here.path / "lock") in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("campaign", ["", " ", "../x", "a/b", ".", "-", "x" * 151])
def test_give_back_refuses_what_is_not_a_campaign_id(here: Here, campaign: str) -> None:
    """An empty variable in a script does not end every campaign on the machine."""
    assert "not a campaign's id" in here.refused("give-back", "--", campaign)


def test_giving_back_what_does_not_run_is_not_an_error(stored: Here) -> None:
    """`give-back` can be repeated until everything is gone."""
    for _ in range(2):
        done = stored.run("give-back", "c1")
        assert done.returncode == 0, done.stderr
        assert "c1: 0 processes ended" in done.stdout


def test_giving_back_an_unknown_campaign_is_refused(stored: Here) -> None:
    """A misspelt id does not read as if a fleet had been given back."""
    said = stored.refused("give-back", "nope")
    assert "no campaign 'nope'" in said
    assert "the latest ones are: c1" in said
    assert "Nothing was ended" in said
    assert "EC2 was not asked, because there are no AWS credentials" in said


@pytest.mark.parametrize("known_by", ["directory", "process", "lock"])
def test_a_campaign_of_this_machine_is_given_back_even_if_the_store_is_lost(
    here: Here, known_by: str
) -> None:
    """A campaign is known by its directory, its processes or the lock that it holds."""
    ended = 0
    if known_by == "directory":
        here.home.campaign("lost").mkdir(parents=True)
    elif known_by == "lock":
        MachineLock(here.path / "lock").acquire("lost", "test", here.home.root, None)
    else:
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, "BENCHLAB_CAMPAIGN": "lost"})
        Thread(target=process.wait, daemon=True).start()
        ended = 1
    done = here.run("give-back", "lost")
    assert done.returncode == 0, done.stderr
    assert f"lost: {ended} processes ended" in done.stdout
    assert MachineLock(here.path / "lock").holder() is None


def test_a_broken_store_does_not_keep_a_campaign_running(here: Here) -> None:
    """It is ended first; that the store cannot record this is still an error."""
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "BENCHLAB_CAMPAIGN": "lost"})
    Thread(target=process.wait, daemon=True).start()
    url = f"sqlite:///{here.path}/nothing/results.db"
    (here.path / "nothing").write_text("")
    here.refused("give-back", "lost", BENCHLAB_STORE_URL=url)
    assert process.wait(60) == -signal.SIGTERM
    assert "Nothing was ended" in here.refused("give-back", "lost", BENCHLAB_STORE_URL=url)


def test_a_campaign_that_only_the_store_knows_is_given_back_where_it_was_rented(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory of a campaign on EC2 may be lost, or on another machine."""
    with Store(here.home.store_url, here.home.objects) as store:
        store.add_campaign(campaigns.fleet_campaign(id="rented"))
    asked = []

    def give_back(taken: Taken) -> str:
        asked.append((taken.campaign, taken.regions))
        return "5 instances terminated"

    monkeypatch.setattr(targets.by_name()["ec2"], "give_back", give_back)
    assert "rented: 5 instances terminated" in here.run("give-back", "rented").stdout
    assert asked == [("rented", ["us-west-2"])]


# ---------------------------------------------------------------- days


@pytest.mark.parametrize(
    "command",
    [
        ("releases", "--on", "2022-06-31"),
        ("run", "sysbench_local", "--on", "yesterday"),
        ("plan", "sysbench_ec2", "--backfill", "2022-01-01", "2022-13-01"),
    ],
)
def test_a_day_that_does_not_exist_is_refused(here: Here, command: tuple[str, ...]) -> None:
    """The message says what is wrong, not how a program reads it."""
    done = here.run(*command)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert f"'{command[-1]}': there is no such day, or it is not written as YYYY-MM-DD" in said


@pytest.mark.parametrize("module", main.COMMANDS)
def test_the_help_says_what_the_commands_say(module: str) -> None:
    """`benchlab --help` has the first line of each docstring, though it imports no module."""
    whole: Any = get_command(main.app)
    shown = {name: whole.get_command(None, name).help for name in main.COMMANDS[module]}
    declared = main.commands_of(module)
    assert shown == {name: command.help.split("\n")[0] for name, command in declared.items()}


def test_every_module_with_a_command_is_in_the_table() -> None:
    """A new file in `cli/` is not forgotten."""
    folder = Path(main.__file__).parent
    with_commands = {path.stem for path in folder.glob("*.py") if "\napp = " in path.read_text()}
    assert with_commands - {"main"} == main.COMMANDS.keys()


def test_help_names_the_commands() -> None:
    """`benchlab --help` lists them."""
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for command in ("validate", "plan", "run", "parse", "compare", "render", "doctor", "give-back"):
        assert command in done.stdout


# ---------------------------------------------------------------- the core as a library


def test_the_core_imports_no_airflow() -> None:
    """The CLI and every module work on a machine without Airflow."""
    code = (
        "import sys, pkgutil, importlib\nimport benchlab, benchlab.cli.main\n"
        "for found in pkgutil.walk_packages(benchlab.__path__, 'benchlab.'):\n"
        "    importlib.import_module(found.name)\n"
        "foreign = ('airflow', 'benchlab_airflow', 'dags')\n"
        "print([name for name in sys.modules if name.split('.')[0] in foreign])\n"
        "print(len([name for name in sys.modules if name.startswith('benchlab.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, count = done.stdout.splitlines()
    assert found == "[]"
    assert int(count) > 30


def test_reading_a_report_type_imports_nothing_heavy() -> None:
    """A DAG file is parsed every few seconds, so what it imports must load fast."""
    code = (
        "import sys\nfrom benchlab.campaign import report_types\n"
        "heavy = ('pandas', 'numpy', 'scipy', 'great_expectations', 'boto3')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


# ---------------------------------------------------------------- what people expect of a program


def test_the_version_and_the_short_form_of_help(here: Here) -> None:
    """As of any other program."""
    assert re.fullmatch(r"benchlab \d+\.\d+\S*\n", here.run("--version").stdout)
    assert "Usage: benchlab run" in " ".join(here.run("run", "-h").stdout.split())


@pytest.mark.parametrize("module", main.COMMANDS)
def test_every_help_has_an_example_that_can_be_copied(module: str) -> None:
    """An example names the command that it is of, with options that this command has."""
    for name, command in main.commands_of(module).items():
        members = getattr(command, "commands", {})
        for words, one in ((name, command), *((f"{name} {sub}", members[sub]) for sub in members)):
            if one.hidden:
                continue
            _, _, example = one.help.partition("\n\nExample: benchlab ")
            assert example.startswith(words), words
            options = {option for parameter in one.params for option in parameter.opts}
            assert {word for word in example.split() if word.startswith("--")} <= options, words


def test_the_shell_completes_commands_and_options(here: Here) -> None:
    """Asked as bash asks; the options are those of the command itself."""
    asked = {"_BENCHLAB_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    done = here.program(COMP_WORDS="benchlab compare --f", **asked)
    assert done.stdout.split() == ["--format", "--fail-on"]


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (
            PermissionError(13, "Permission denied", "/etc/x"),
            "this account has no permission for it",
        ),
        (OSError(28, "No space left on device", "/etc/x"), "the disk is full"),
        (OSError(30, "Read-only file system", "/etc/x"), "its file system is read-only"),
        (FileNotFoundError("/etc/x"), "it does not exist"),
        (URLError(ConnectionRefusedError(111, "Connection refused")), "nothing listens there"),
        (OSError(95, "Operation not supported"), "the system reports: operation not supported"),
    ],
)
def test_an_error_of_the_system_is_said_in_plain_words(error: OSError, meaning: str) -> None:
    """Without its number, and whoever raised it."""
    assert meaning_of(error) == meaning


def test_what_the_system_refuses_anywhere_is_no_traceback(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a full disk in the middle of a command."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/data/x")

    monkeypatch.setattr("benchlab.cli.store.builds.all_kept", full)
    assert here.refused("builds") == "error: /data/x: the disk is full\n"


def test_where_nothing_was_rented_the_reaper_has_nothing_to_look_at(here: Here) -> None:
    """Without credentials that is no error; where a campaign rented hosts, it is.

    Clusters of TiDB Cloud are deleted nevertheless, and what is wrong there is said as well.
    """
    nowhere = {
        "HOME": str(here.path),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    }
    done = here.run("reap", "--dry-run", **nowhere)
    assert done.returncode == 0, done.stderr
    assert "nothing to look at" in done.stdout
    with Store(here.home.store_url, here.home.objects) as store:
        store.add_campaign(campaigns.fleet_campaign(id="rented"))
    damaged = here.home.campaign("cut") / lease_file.FILE
    damaged.parent.mkdir(parents=True)
    damaged.write_text("")
    with tidb_cloud.serving() as cloud:
        cloud.add("benchlab-20240131T1200Z-3f2a9c1b7d40")
        key = f"mysql://{tidb_cloud.PUBLIC}:{tidb_cloud.PRIVATE}@127.0.0.1:{cloud.port}"
        nowhere["AIRFLOW_CONN_TIDB_CLOUD"] = f"{key}?ssl_mode=VERIFY_IDENTITY&ssl={quote(CA)}"
        said = here.refused("reap", **nowhere)
        assert cloud.living() == []
    assert "no credentials" in said
    assert f"{damaged}: cannot be read" in said


def test_whatever_fails_with_one_provider_the_other_is_reaped(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also a fault that nobody foresaw: it is named, and its traceback is logged."""
    reaped = []

    def broken(*_: object, **__: object) -> None:
        raise ValueError("Invalid endpoint")

    monkeypatch.setattr("benchlab.cli.run.reaper.reap", broken)
    monkeypatch.setattr("benchlab.cli.run.clusters.reap", lambda *_, **__: reaped.append("all"))
    assert here.refused("reap") == "error: ValueError; the log has the rest\n"
    assert reaped == ["all"]
    assert "ValueError: Invalid endpoint" in caplog.text


def test_running_a_complete_campaign_again_says_where_its_report_is(stored: Here) -> None:
    """Nothing is measured, and nothing failed; --fail-on finds its verdicts."""
    with Store(stored.home.store_url, stored.home.objects) as store:
        spec = store.campaign("c1").report_type
    file = stored.path / f"{spec.report}.yaml"
    file.write_text(yaml.safe_dump(spec.model_dump(mode="json", exclude_defaults=True)))
    unpublished = stored.run("run", file, "--campaign", "c1")
    assert unpublished.returncode == 1
    assert "`benchlab publish c1` publishes it" in unpublished.stderr
    assert stored.run("publish", "c1").returncode == 0
    done = stored.run("run", file, "--campaign", "c1")
    assert done.returncode == 0, done.stderr
    assert "nothing to measure: campaign c1 is complete" in done.stderr
    assert str(stored.home.reports / "c1" / "report.html") in done.stdout.splitlines()
    assert stored.run("run", file, "--campaign", "c1", "--fail-on", "regression").returncode == 3


def test_no_advice_ends_the_campaign_of_somebody_else(here: Here) -> None:
    """A machine that is taken is waited for; to end what is at work there is for its owner."""
    lock = MachineLock(here.path / "lock")
    lock.acquire("theirs", "benchlab run", here.home.root, os.getpid())
    done = here.run("run", here.report(), "--campaign", "ours")
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert "Wait for it, as `benchlab run --wait` does" in said
    assert "only if it is yours" in said
    assert MachineLock(here.path / "lock").holder() is not None
