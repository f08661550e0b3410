"""The five published plans do what their documents say, and name each point where they do not.

The facts of each document lie in ``published_plans/``, copied from it. Of a command they hold what
is printed, and every option in which Benchlab's differs: printed, rendered, and a phrase of the
sentence among the plan's differences that says so (``default``: the client's own value, written
out).
"""

from __future__ import annotations

import shlex
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab import targets
from benchlab.analysis.verdict.compare import compare
from benchlab.campaign import report_types
from benchlab.cli import dry_run
from benchlab.engines.tidb import rules
from benchlab.home import find
from benchlab.plan import report_type
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import CloudTopology, Ec2Topology
from benchlab.report.model import document_tables
from benchlab.report.model import report as model
from tests.builders import campaigns, plans

FACTS = Path(__file__).parent / "published_plans"
NAMES = sorted(path.stem for path in FACTS.glob("*.yaml"))
WITH_COMMANDS = [name for name in NAMES if name != "sysbench_v21_vs_v20"]
# Their servers are deployed by somebody else, or by TiDB Cloud.
OF_OTHERS = ("sysbench_v21_vs_v20", "sysbench_v713_cloud")
HOME = find()
# go-tpc's short options.
LONG = {"H": "host", "P": "port", "U": "user", "p": "password", "T": "threads", "D": "db"}
FLAGS = {"no-check", "ignore-error"}


@cache
def facts(name: str) -> dict[str, Any]:
    """What a document says."""
    loaded: dict[str, Any] = yaml.safe_load((FACTS / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


@cache
def spec(name: str) -> ReportSpec:
    """The published plan."""
    return report_types.load(HOME.configs / "published" / f"{name}.yaml")


@cache
def plan(name: str) -> Plan:
    """Its plan."""
    return plans.plan_in(HOME, spec(name), "tidb", name)


@cache
def commands(name: str) -> tuple[Any, ...]:
    """What `benchlab plan --commands` shows."""
    return dry_run.commands_of(HOME, spec(name), plan(name))


def client_commands(name: str) -> list[str]:
    """Those of sysbench and go-tpc, without the limit of what they may print."""
    started = [c.text.removeprefix("prlimit --fsize=268435456 ") for c in commands(name)]
    return [text for text in started if text.startswith(("sysbench ", "tiup bench ", "go-tpc "))]


def said(name: str, phrase: str) -> bool:
    """Whether one of the plan's differences has this phrase in it."""
    published = spec(name).published
    assert published is not None
    return any(phrase in sentence for sentence in published.sentences)


def options(command: str) -> dict[str, str]:
    """A command's options by their long names, and under ``words`` what is none."""
    found: dict[str, str] = {}
    words: list[str] = []
    tokens = iter(shlex.split(command))
    for token in tokens:
        if not token.startswith("-"):
            words.append(token)
            continue
        option, equals, value = token.partition("=")
        key = option.lstrip("-")
        if not option.startswith("--"):
            key = LONG[key]
        found[key] = value if equals or key in FLAGS else next(tokens)
    known = {"sysbench", "tiup", "bench", "tpcc", "prepare", "run"}
    return {**found, "words": " ".join(word for word in words if word not in known)}


def differing(printed: dict[str, str], rendered: dict[str, str]) -> dict[str, list[str | None]]:
    """Where two sets of options differ: printed and rendered value of each."""
    return {
        key: [printed.get(key), rendered.get(key)]
        for key in {**printed, **rendered}
        if printed.get(key) != rendered.get(key)
    }


def test_there_is_a_plan_for_every_document() -> None:
    """Five documents, five plans, each under the document's own title."""
    files = report_types.published_files(HOME)
    assert [path.stem for path in files] == NAMES
    assert len(NAMES) == 5
    titles = {spec(name).published.document for name in NAMES}  # type: ignore[union-attr]
    assert len(titles) == 5
    for path in files:
        assert report_types.find_report(HOME, path.stem) == path
        assert report_type.load(path) == spec(path.stem)


@pytest.mark.parametrize("name", NAMES)
def test_a_test_runs_every_plan_as_their_page_says(name: str) -> None:
    """In one of the layers that start servers."""
    tests = FACTS.parents[1]
    files = [*tests.glob("hosts/test_*.py"), *tests.glob("integration/test_*.py")]
    assert any(f'"{name}' in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_measured_is_what_the_document_measured(name: str) -> None:
    """Versions, dataset, workloads, threads and durations; one round, one side after the other."""
    said_so, found = facts(name), spec(name)
    assert [side.version for side in plan(name).sides.values()] == said_so["versions"]
    assert found.dataset.model_dump() == said_so["dataset"]
    assert [name.removeprefix("oltp_") for name in found.workloads] == said_so["workloads"]
    if said_so["threads"] is None:
        assert said(name, "names no thread counts")
    else:
        own = dict.fromkeys(found.workloads, said_so["threads"]) | said_so.get(
            "threads_of_tables", {}
        )
        assert {w: list(plan(name).threads_in_order(w)) for w in found.workloads} == own
    assert found.seconds == said_so["seconds"]
    assert (found.rounds, found.warmup_seconds, found.placement) == (1, 0, "sequential")
    sides = [trial.side for trial in plan(name).trials]
    assert sides == sorted(sides)
    assert found.published is not None
    assert found.published.client == said_so["client"]


@pytest.mark.parametrize("name", NAMES)
def test_results_are_laid_out_as_in_the_document(name: str) -> None:
    """Workload after workload in its order, with the headings of its tables."""
    recorded, found = facts(name)["tables"], spec(name)
    assert found.layout == "published"
    assert found.published is not None
    assert (found.published.tables is None) == (recorded is None)
    made = campaigns.campaign(found, plan_=plan(name))
    make = campaigns.tpcc_result if found.workloads == ("tpcc",) else campaigns.trial_result
    results = [make(trial, tpmc=1000.0) for trial in made.plan.trials]
    report = model.build(made, compare(made.plan, results, 2.0), results)
    order, headings = [], set()
    for section in report.sections:
        order.append(section.figures.name.removeprefix("oltp_"))
        headings |= {table.header for table in document_tables.tables(report, section)}
    # Without a table in the document, as in the others of TPC-C.
    usual = "Threads | v5.1.1 tpmC | v5.2.0 tpmC | tpmC improvement (%)"
    printed = recorded or {"headings": usual, "order": ["tpcc"]}
    assert order == printed["order"]
    assert [" | ".join(table).lower() for table in headings] == [printed["headings"].lower()]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_document(name: str) -> None:
    """Configuration items by component and global variables, on both sides, and no others."""
    said_so = facts(name)
    if spec(name).connections:
        assert all(
            said(name, f"{item}: {value}".replace("False", "false"))
            for item, value in said_so["tikv"].items()
        )
        return
    for side in plan(name).sides.values():
        assert side.parameters == {**said_so["tidb"], **said_so["variables"]}
        assert side.components.get("tikv", {}) == said_so["tikv"]
        assert set(side.components) <= {"tikv"}
    wanted = {
        workload: {"tikv": {"raft-engine.prefill-for-recycle": value}}
        for workload, value in said_so.get("prefill_for_recycle", {}).items()
    }
    assert spec(name).engines["tidb"].by_workload == wanted


@pytest.mark.parametrize("name", NAMES)
def test_the_topology_is_that_of_the_document(name: str) -> None:
    """Hosts by role and instance type, machines by address, or nodes of TiDB Cloud."""
    said_so, topology = facts(name), targets.load_topology(HOME, spec(name))
    match topology:
        case Ec2Topology():
            found = Counter((host.role, host.instance_type) for host in plan(name).hosts)
            assert found == {(role, kind): n for role, (n, kind) in said_so["hosts"].items()}
            assert plan(name).vcpus == 144
        case CloudTopology():
            nodes = said_so["nodes"]
            for component in ("tidb", "tikv"):
                found_nodes = getattr(topology, component)
                assert [found_nodes.count, found_nodes.size, found_nodes.storage_gib] == nodes[
                    component
                ]
            assert topology.fleet is not None
            client = topology.fleet.roles["client"].instance_type
            assert (client, topology.region) == (nodes["client"], nodes["region"])
        case None:
            assert set(spec(name).connections) == set(plan(name).sides)
            roles = Counter(map(tuple, said_so["machines"].values()))
            assert roles == {("client",): 1, ("tidb", "pd", "tikv"): 1, ("tidb", "tikv"): 2}
            assert said(name, "one for PD, TiDB and TiKV, two for TiDB and TiKV")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_OTHERS])
def test_what_tiup_is_told_is_what_the_document_deployed(name: str) -> None:
    """The rendered topology files: servers by component, their configuration; both versions."""
    said_so = facts(name)
    files = [c for c in commands(name) if c.purpose.endswith("/topology.yaml")]
    assert len(files) == 2
    for file in files:
        rendered = yaml.safe_load(file.text)
        configs = rendered.get("server_configs", {})
        assert configs.get("tikv", {}) == said_so["tikv"]
        places = rules.out_of_tmp("v9.0.0", Path())  # where TiDB writes is none of the document's
        tidb = {key: value for key, value in configs["tidb"].items() if key not in places}
        assert tidb == said_so["tidb"]
        for role in ("pd", "tikv", "tidb"):
            number, _ = said_so["hosts"][role]
            assert len(rendered[f"{role}_servers"]) == number
    deployed = [c.text.split()[4] for c in commands(name) if "tiup cluster deploy" in c.text]
    assert deployed == said_so["versions"]
    for variable, value in said_so["variables"].items():
        statement = f"SET GLOBAL {variable} = {value};"
        assert sum(statement in command.text for command in commands(name)) >= 1


@pytest.mark.parametrize("step", ["prepare", "run"])
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_differ_from_the_printed_ones_only_as_declared(name: str, step: str) -> None:
    """Every option that is not as printed is in the facts, and a sentence of the plan says why."""
    golden = facts(name)["commands"][step]
    cell = golden.get("cell")
    wanted = [f" {cell[0]} ", f"--threads={cell[1]} "] if cell else [" prepare"]
    rendered = next(text for text in client_commands(name) if all(w in text for w in wanted))
    found = differing(options(golden["published"]), options(rendered))
    assert found == {option: pair[:2] for option, pair in golden["differs"].items()}
    for option, (_, _, phrase) in golden["differs"].items():
        assert phrase == "default" or said(name, phrase), f"{option}: {phrase}"


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_every_cell_has_its_command_once(name: str) -> None:
    """Workloads x threads run commands, and no command twice on one host."""
    runs = [text for text in client_commands(name) if " prepare" not in text]
    assert len(runs) == len(set(runs)) == len({(t.workload, t.threads) for t in plan(name).trials})


def test_each_cluster_of_its_owner_has_commands_of_its_own() -> None:
    """Made, loaded, analyzed and measured by its own Connection, the same way."""
    name = "sysbench_v21_vs_v20"
    for statement, times in (("CREATE DATABASE sbtest", 1), ("ANALYZE TABLE", 16)):
        assert sum(c.text.count(statement) for c in commands(name)) == 2 * times
    both = [
        [
            text.replace(connection, "its").replace(side, "side")
            for text in client_commands(name)
            if f"--mysql-host=<{connection}> " in text
        ]
        for side, connection in spec(name).connections.items()
    ]
    assert both[0] == both[1]
    assert len(both[0]) == 1 + 15


def test_haproxy_differs_from_the_printed_configuration_only_as_declared() -> None:
    """Directive by directive, for the one document that prints its haproxy.cfg."""
    name = "tpcc_v540_vs_v530"
    rendered = next(c.text for c in commands(name) if c.purpose.endswith("/haproxy.cfg"))
    found: dict[str, str] = {}
    for line in rendered.split("listen statistics")[0].splitlines():
        words = line.split("#")[0].split()
        if not words or words in (["global"], ["defaults"]):
            continue
        long = 2 if words[0] in ("timeout", "server") else 1
        found[" ".join(words[:long])] = " ".join(words[long:])
    golden = facts(name)["haproxy"]
    assert {key: value for key, (_, value, _) in golden.items() if value is not None} == found
    for directive, (printed, value, phrase) in golden.items():
        assert printed == value or said(name, phrase), f"{directive}: {phrase}"


def test_the_page_is_charged_with_its_own_steps_only() -> None:
    """Only one document analyzes and restores; the others' pages do not wait for either."""
    for name in NAMES:
        published = spec(name).published
        assert published is not None
        wanted = ("analyze", "restore") if name == "sysbench_v520_vs_v511" else ()
        assert published.describes == wanted
        if not wanted:
            assert said(name, "of which the document says nothing")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("tpcc")])
def test_tpc_c_as_published_takes_little_longer_than_by_hand(name: str) -> None:
    """Checksums, conditions and restores, none of which the page has, cost a tenth at most."""
    made = plan(name)
    assert made.page_minutes is not None
    assert made.minutes <= 1.1 * made.page_minutes
    assert [step.stage for step in made.steps].count("check") == 4, "both sides, twice"


@pytest.mark.parametrize("name", NAMES)
def test_a_published_plan_is_estimated_beside_the_way_of_its_page(name: str) -> None:
    """Steps add up to the total; the page's serial way stands beside it; no secret is shown."""
    made = plan(name)
    assert sum(step.minutes for step in made.steps) == pytest.approx(made.minutes, abs=0.2)
    assert made.page_minutes is not None
    measured = len(made.trials) * spec(name).seconds / 60
    assert min(made.minutes, made.page_minutes) > measured
    shown = dry_run.render(commands(name))
    assert "mysql-password" not in shown
    assert "IDENTIFIED BY '<password>'" in shown or name in OF_OTHERS
