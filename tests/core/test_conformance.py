"""What every engine, workload, target and publisher keeps to, whoever wrote it.

They are found by their presence, so that a new file is tested on arrival.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pydantic
import pytest

from benchlab import engines, home, targets, workloads
from benchlab.campaign import fit
from benchlab.engines.server import BaseEngine
from benchlab.errors import SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import english
from benchlab.plan import report_type, steps, topology
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import LATENCY, THROUGHPUT, kinds
from benchlab.report import publish
from benchlab.report.publish.publisher import BasePublisher, Options
from benchlab.targets.target import (
    BaseTarget,
    DeploysClusters,
    OnTopology,
    ReplacesHosts,
    ServersOfOthers,
    Taken,
)
from benchlab.workloads.client import Endpoint, Program, Session, program_of
from benchlab.workloads.sysbench import Tables
from benchlab.workloads.tpcc import Warehouses
from benchlab.workloads.tpch import ScaleFactor
from benchlab.workloads.ycsb import Records
from tests.builders import fakes, plans

ENGINES = engines.by_name()
TARGETS = targets.by_name()
PUBLISHERS = publish.by_name()
WORKLOADS = workloads.by_name()
MODULES = {module.__name__.rpartition(".")[2]: module for module in WORKLOADS.values()}
PASSWORD = "hunter2 it's"
SAMPLE_VERSIONS = (
    *("10.2.11", "10.11.5", "11.4.5", "8.0.36"),
    *("v2.1.0-rc.2", "v3.0.20", "v6.1.0", "v6.5.0", "v8.5.1", "v9.0.0-beta.1"),
)
NO_VERSIONS = ("", "latest", "6.5", "v6.5", "nightly", "../10.2.11", "10.2.11\n", "١.٢.٣")


def test_something_of_each_kind_is_found() -> None:
    """A family without members would make every test below pass."""
    assert {"mariadb", "tidb"} <= set(ENGINES)
    assert {"local", "hosts", "ec2"} <= set(TARGETS)
    assert {"files", "s3"} <= set(PUBLISHERS)
    assert {"oltp_point_select", "oltp_insert"} <= set(WORKLOADS)


def test_a_plan_knows_which_targets_load_both_sides_at_once() -> None:
    """Else it would estimate, and show, another campaign than the one that runs."""
    for path in (home.find().configs / "topologies").glob("*.yaml"):
        found = topology.load(path)
        using = [target for target in TARGETS.values() if target.can.topology == found.kind]
        loads = [target.can.loads_together for target in using]
        assert loads == [steps.loads_at_once(found)] * len(using)


# ---------------------------------------------------------------- engines


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_what_it_is_called(name: str) -> None:
    """A report type finds an engine by the name of its module, and can be written with it."""
    engine = ENGINES[name]
    assert engine.name == name
    assert issubclass(engine, BaseEngine)
    assert not inspect.isabstract(engine)
    side = {"version": "1.0.0"}, {"version": "1.0.1"}
    chosen = {name: dict(zip(("baseline", "candidate"), side, strict=True))}
    assert set(plans.spec(engine=name, engines=chosen).engines) == {name}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_says_which_errors_a_client_survives(name: str) -> None:
    """Without deadlocks among them, the first one would end a run; lost connections never are."""
    errors = ENGINES[name].retryable_errors
    assert errors
    assert 1213 in errors
    assert len(set(errors)) == len(errors)
    assert not {2006, 2013, 2055} & set(errors)
    caveat = ENGINES[name].caveat
    assert caveat is None or english().say(caveat).endswith(".")


@pytest.mark.parametrize("version", SAMPLE_VERSIONS)
def test_a_version_belongs_to_one_engine_at_most(version: str) -> None:
    """`baseline=v6.5.0` on a command line can only mean one thing."""
    assert sum(engine.owns(version) for engine in ENGINES.values()) == 1


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("text", NO_VERSIONS)
def test_no_engine_owns_what_is_no_version(name: str, text: str) -> None:
    """Versions become paths and arguments: nothing else passes."""
    assert not ENGINES[name].owns(text)


@pytest.mark.parametrize("name", ENGINES)
def test_availability_starts_nothing_and_says_how(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where neither server nor installer are, the sentence names the version and what to do."""
    for variable in ("PATH", "HOME", "TIUP_HOME", "BENCHLAB_TIDB_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    version = next(v for v in SAMPLE_VERSIONS if ENGINES[name].owns(v))
    found = ENGINES[name].availability(version, tmp_path / "servers")
    assert not found.available
    assert version in str(found.how)
    assert list(tmp_path.iterdir()) == []
    executor = fakes.FakeExecutor()
    with pytest.raises(UnavailableError, match=version):
        ENGINES[name].install(executor, version, tmp_path / "servers")
    assert executor.log == []


# ---------------------------------------------------------------- targets


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_what_it_is_called(name: str) -> None:
    """A report type finds it by its name; what the trigger form asks of it is there."""
    target = TARGETS[name]
    assert target.name == name
    assert issubclass(target, BaseTarget)
    assert not inspect.isabstract(target)
    for fact in (target.can.rents, target.can.deferrable, target.can.slows_down):
        assert isinstance(fact, bool)
    assert plans.spec().model_copy(update={"target": name}).target == name


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_what_it_says_it_can_do_and_nothing_else(name: str) -> None:
    """A campaign asks for what it needs by the class of it; plans and forms ask the data."""
    target, can = TARGETS[name], TARGETS[name].can
    assert issubclass(target, OnTopology) == (can.topology is not None)
    assert issubclass(target, ServersOfOthers) == (not can.administers)
    assert issubclass(target, DeploysClusters) == can.deploys_clusters
    assert issubclass(target, ReplacesHosts) == (can.deploys_clusters and can.rents)
    assert (target.datasets is not BaseTarget.datasets) == can.keeps_datasets


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_needs_a_topology_refuses_none(name: str, tmp_path: Path) -> None:
    """The sentence names the field and the kind; one that needs none gets none."""
    here, target = Home(tmp_path, tmp_path / "state"), TARGETS[name]
    spec = plans.spec().model_copy(update={"target": name, "topology": None})
    if target.can.topology is None:
        assert targets.load_topology(here, spec) is None
        return
    with pytest.raises(SpecError, match=f"^topology: missing.* kind {target.can.topology}"):
        targets.load_topology(here, spec)


def test_without_a_load_balancer_there_is_one_server_to_connect_to() -> None:
    """Refused before hosts are rented where a fleet has several SQL servers."""
    spec = report_type.load(home.find().project / "configs/reports/sysbench_ec2.yaml")
    with pytest.raises(
        SpecError, match="load_balancer: none: topology ec2_published has 3 SQL servers"
    ):
        fit.check(spec.with_overrides({"load_balancer": "none"}), "x")
    alone = plans.spec().with_overrides({"load_balancer": "none"})
    assert fit.check(alone, "x") is alone


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_gives_back_a_campaign_that_took_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without store, plan or credentials; and again."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(tmp_path / "lock"))
    here = Home(tmp_path, tmp_path / "state")
    said = [TARGETS[name].give_back(Taken(here, "never-was", Access())) for _ in range(2)]
    assert said[0] == said[1]
    assert not here.campaign("never-was").exists()


# ---------------------------------------------------------------- workloads


DATASETS: dict[type, Dataset] = {
    Tables: Tables(tables=2, table_size=100),
    Warehouses: Warehouses(warehouses=2),
    Records: Records(records=1000),
    ScaleFactor: ScaleFactor(scale_factor=2),
}


def endpoint(module: Any, client: Client = Client()) -> Any:  # noqa: B008 - frozen
    """Where a client would connect, with a password if it can be given one in private."""
    private = program_of(client.program, module.PROGRAMS).takes_password
    password = PASSWORD if private else ""
    return Endpoint("127.0.0.1", 13390, "bench", password, module.DATABASE)


@pytest.mark.parametrize("name", MODULES)
def test_a_workload_module_is_whole(name: str) -> None:
    """All that a campaign asks of it is there; what is read-only is one of its workloads."""
    module: Any = MODULES[name]
    functions = ("config_file_text", "prepare_command", "run_command", "parse")
    for function in (*functions, "warnings"):
        assert callable(getattr(module, function))
    assert kinds(module.METRICS) == (THROUGHPUT, LATENCY)
    assert all(metric.title for metric in module.METRICS if metric.shown in ("table", "details"))
    assert workloads.parsers()[module.TOOL] is module.parse
    assert module.NAMES
    assert set(module.READ_ONLY) <= set(module.NAMES)
    assert set(module.FRESH) <= set(module.NAMES) - module.READ_ONLY
    assert module.DATASET in DATASETS
    assert (module.CONSISTENCY is None) == (DATASETS[module.DATASET].check_s is None)
    assert module.DATABASE.isidentifier()


@pytest.mark.parametrize("name", MODULES)
def test_a_workload_module_knows_the_tables_it_loads(name: str) -> None:
    """The campaign counts the rows after the load by these names."""
    module: Any = MODULES[name]
    found = DATASETS[module.DATASET].rows_by_table
    assert found
    assert all(table.isidentifier() for table in found)
    assert any(rows is not None for rows in found.values())
    assert all(rows is None or rows > 0 for rows in found.values())


@pytest.mark.parametrize("name", MODULES)
def test_a_workload_module_refuses_the_dataset_of_another(name: str) -> None:
    """Each function that is given one says what to write instead."""
    module: Any = MODULES[name]
    needed = next(iter(module.DATASET.model_fields))
    for dataset in (d for kind, d in DATASETS.items() if kind is not module.DATASET):
        session = Session(endpoint(module), "/client.cnf", dataset, 1, Client())
        for call in (
            partial(module.prepare_command, session),
            partial(module.run_command, module.NAMES[0], session, seconds=1),
        ):
            found = f"^dataset: ({name}|{module.TOOL}) loads .*{needed}"
            with pytest.raises(ValueError, match=found):
                call()


def test_a_workload_belongs_to_one_module() -> None:
    """Two clients cannot both mean the same name."""
    names = [name for module in MODULES.values() for name in module.NAMES]
    assert len(set(names)) == len(names)
    assert set(names) == set(WORKLOADS)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_report_type_can_name_it(name: str) -> None:
    """Its name passes the rules for names."""
    assert plans.spec(workloads=[name]).workloads == (name,)


PROGRAMS = [
    pytest.param(MODULES[name], program, id=f"{name}-{program.name}")
    for name in MODULES
    for program in MODULES[name].PROGRAMS
]


@pytest.mark.parametrize(("module", "program"), PROGRAMS)
def test_a_program_can_be_asked_for_and_has_all_it_needs(module: Any, program: Program) -> None:
    """By the name that a report type gives; its files are there to be brought to the host."""
    client = Client(program=program.name)
    assert program_of(client.program, module.PROGRAMS) is program
    assert all(path.is_file() for path in program.files.values())
    assert program.called("nothing of use").endswith("of an unknown version")


@pytest.mark.parametrize("name", MODULES)
def test_a_program_that_is_not_there_is_refused(name: str) -> None:
    """By a sentence that names those that are."""
    with pytest.raises(ValueError, match=r"^client.program: 'abacus' is not one of .+"):
        program_of("abacus", MODULES[name].PROGRAMS)


@pytest.mark.parametrize(("module", "program"), PROGRAMS)
def test_no_command_has_the_password_in_it(module: Any, program: Program) -> None:
    """It travels in a private file, or there is none; nor does a log show it."""
    client = Client(program=program.name)
    to, dataset = endpoint(module, client), DATASETS[module.DATASET]
    config, name = "/private/client.cnf", module.NAMES[0]
    session = Session(to, config, dataset, 4, client)
    run = module.run_command(name, session, seconds=5, ignore_errors=(1213,))
    prepare = module.prepare_command(session)
    for command in (run, prepare):
        assert all(isinstance(part, str) for part in command)
        assert not [part for part in command if PASSWORD in part]
        assert (config in " ".join(command)) == program.takes_password
    assert run != prepare
    secret = Endpoint("127.0.0.1", 13390, "bench", PASSWORD, module.DATABASE)
    assert PASSWORD not in repr(secret)
    if program.takes_password:
        assert PASSWORD in module.config_file_text(secret)
        return
    assert module.config_file_text(to) == ""
    shown = replace(session, endpoint=secret)
    for make in (
        partial(module.prepare_command, shown),
        partial(module.run_command, name, shown, seconds=5),
    ):
        with pytest.raises(ValueError, match=r"^password: ") as caught:
            make()
        assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("wrong", [{"threads": 0}, {"seconds": 0}])
def test_a_command_that_would_run_without_end_is_not_made(name: str, wrong: dict[str, int]) -> None:
    """Zero means `for ever` or `as many as you like` to some clients."""
    module: Any = WORKLOADS[name]
    fields = {"threads": 4, "seconds": 5, **wrong}

    def session() -> Session:
        dataset = DATASETS[module.DATASET]
        return Session(endpoint(module), "/client.cnf", dataset, fields["threads"], Client())

    with pytest.raises(ValueError, match=next(iter(wrong))):
        module.run_command(name, session(), seconds=fields["seconds"])


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("text", ["", "\0", "Segmentation fault", "[ 1s ] \n" * 3])
def test_an_output_without_a_run_is_never_complete(name: str, text: str) -> None:
    """A client that printed nothing of use gives no figures, and a reason."""
    parse: Callable[[str], Any] = MODULES[name].parse
    output = parse(text)
    assert output.status != "complete"
    assert output.reasons
    assert output.transactions is None
    document = output.to_json()
    assert document["status"] == output.status
    assert document["duration_s"] is None
    assert all(value is None for value in output.samples().values())
    json.dumps(document, allow_nan=False)


# ---------------------------------------------------------------- publishers


def options(name: str) -> dict[str, Any]:
    """What a report type has to say at least, by the examples of its fields."""
    fields = PUBLISHERS[name].options_model.model_fields
    return {key: field.examples[0] for key, field in fields.items() if field.is_required()}  # type: ignore[index]


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_publisher_is_what_it_is_called(name: str) -> None:
    """A report type finds it by the name of its module, and can be written with it."""
    publisher = PUBLISHERS[name]
    assert issubclass(publisher, BasePublisher)
    assert not inspect.isabstract(publisher)
    report_type = plans.spec(publish=[{"to": name, **options(name)}])
    assert fit.check(report_type, "here") is report_type
    assert report_type.with_overrides({"rounds": 3}) == report_type, "it survives being stored"


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_publisher_refuses_what_it_does_not_know(name: str) -> None:
    """Options are frozen, have no secrets, and say which place they mean."""
    model = PUBLISHERS[name].options_model
    assert issubclass(model, Options)
    found = model.model_validate(options(name))
    assert found.place
    assert found.place == model.model_validate(options(name)).place
    assert not {"password", "secret", "token", "key"} & set(model.model_fields)
    with pytest.raises(pydantic.ValidationError, match="extra_forbidden"):
        model.model_validate({**options(name), "nosuch": 1})
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        found.nosuch = 1  # type: ignore[attr-defined]  # what is refused


# ---------------------------------------------------------------- new files


# A plug-in of pytest that adds a folder to each family before its members are looked for; in each
# folder is one file, ``arrival.py``, that does not keep its contract.
PLUGIN = """
import benchlab.engines, benchlab.report.publish, benchlab.targets, benchlab.workloads

for family in (benchlab.engines, benchlab.report.publish, benchlab.targets, benchlab.workloads):
    family.__path__.append(f"{FOLDER}/{family.__name__}")
"""
ARRIVALS = {
    "benchlab.engines": (
        "from benchlab.engines.server import BaseEngine\n"
        "class Engine(BaseEngine):\n"
        "    name = 'another'\n"
        "    retryable_errors = ()\n"
        "    owns = classmethod(lambda cls, version: False)\n"
    ),
    "benchlab.targets": (
        "from benchlab.targets.target import BaseTarget\n"
        "class Target(BaseTarget):\n"
        "    name = 'arrival'\n"
        "    topology = None\n"
    ),
    "benchlab.workloads": "NAMES, PROGRAMS, READ_ONLY, TOOL = ('arrival',), (), (), 'arrival'\n"
    "parse = print\n",
    "benchlab.report.publish": (
        "from benchlab.report.publish.publisher import BasePublisher, Options\n"
        "class Publisher(BasePublisher):\n"
        "    name, options_model = 'arrival', Options\n"
    ),
}
CHECKS = (
    "test_an_engine_is_what_it_is_called",
    "test_an_engine_says_which_errors_a_client_survives",
    "test_a_target_is_what_it_is_called",
    "test_a_workload_module_is_whole",
    "test_a_publisher_is_what_it_is_called",
)


def test_a_new_file_of_a_family_is_found_and_checked(tmp_path: Path) -> None:
    """There is no list to edit: a file that breaks its contract fails here on arrival."""
    for family, text in ARRIVALS.items():
        (tmp_path / family).mkdir()
        (tmp_path / family / "arrival.py").write_text(text)
    (tmp_path / "arrivals.py").write_text(PLUGIN.replace("{FOLDER}", str(tmp_path)))
    paths = [str(tmp_path), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "arrivals", "-k", "arrival", __file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    failed = {line.partition("::")[2] for line in done.stdout.splitlines() if "FAILED" in line}
    for check in CHECKS:
        assert any(line.startswith(f"{check}[arrival]") for line in failed), done.stdout
