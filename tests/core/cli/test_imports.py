"""What a start of Benchlab may import: whatever is added is waited for at every start.

A heavy package belongs where it is used, or into a module of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.installation import ROOT

# Other packages that Benchlab itself may import at a start; what these import is their affair.
HELP = {"typer"}
VALIDATE = HELP | {"pydantic", "yaml"}
DAG_FILE = {"airflow", "croniter", "pydantic", "yaml"}
REPORT_TYPES = {
    *("bounded", "campaign", "discovery", "engines", "errors", "home", "hosts", "language", "plan"),
    *("report", "results", "targets", "workloads"),
}
# Never at a start, whoever imports them.
HEAVY = {
    *("asyncssh", "boto3", "botocore", "croniter", "fsspec", "great_expectations", "jinja2"),
    *("numpy", "pandas", "scipy", "sqlalchemy", "upath"),
}
# Packages of the core that do not concern a report type, and modules that work, not describe.
NOT_FOR_REPORT_TYPES = ("analysis", "cli.run", "published", "report.model", "results.store")

# Notes which module imported each other one first.
NOTED = """\
import builtins, json, sys

first, importing = {}, builtins.__import__

def noted(name, globals=None, *others, **options):
    before = set(sys.modules)
    try:
        return importing(name, globals, *others, **options)
    finally:
        for new in sys.modules.keys() - before:
            first.setdefault(new, (globals or {}).get("__name__", ""))
"""
COMMAND = (
    NOTED
    + """
builtins.__import__ = noted
from benchlab.cli.main import main
sys.argv[0] = "benchlab"
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended
print("\\n" + json.dumps({name: first.get(name, "") for name in sys.modules}))
"""
)
PACKAGE = "import benchlab, json, sys; print(json.dumps(dict.fromkeys(sys.modules, '')))"
# As the DAG processor does, which has Airflow already.
PARSE = (
    NOTED
    + """
from airflow.dag_processing.dagbag import DagBag
before = set(sys.modules)
builtins.__import__ = noted
bag = DagBag(sys.argv[1])
assert bag.dags and not bag.import_errors, bag.import_errors
print(json.dumps({name: first.get(name, "") for name in sys.modules.keys() - before}))
"""
)


def imported(program: str, *arguments: object, **environment: str) -> dict[str, str]:
    """The modules that a new process has in the end, each with who imported it first."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def chain(name: str, found: dict[str, str]) -> str:
    """Who imported a module, up to the program: ``a <- b <- c``."""
    names = [name]
    while (by := found.get(names[-1], "")) and by not in names:
        names.append(by)
    return " <- ".join(names)


def refuse(found: dict[str, str], *unwanted: str) -> None:
    """Fail if one of these modules was imported, and name the chain."""
    there = [name for name in unwanted if name in found]
    assert not there, "\n".join(chain(name, found) for name in there)


def others(found: dict[str, str]) -> set[str]:
    """The other packages that Benchlab's own modules imported."""
    ours = (name for name, by in found.items() if by.startswith("benchlab"))
    tops = {name.partition(".")[0] for name in ours}
    return {name for name in tops - sys.stdlib_module_names if not name.startswith("benchlab")}


def core(found: dict[str, str]) -> set[str]:
    """The packages of the core among the modules."""
    return {name.split(".")[1] for name in found if name.startswith("benchlab.")}


def test_importing_benchlab_imports_nothing_else() -> None:
    """A program that uses one part of the library pays for that part only."""
    found = imported(PACKAGE)
    assert core(found) == set()
    refuse(found, *HEAVY, *VALIDATE)


def test_the_help_imports_no_command() -> None:
    """`benchlab --help` needs the table of commands, and what prints it."""
    found = imported(COMMAND, "--help")
    assert core(found) == {"cli", "errors"}
    assert {name for name in found if name.startswith("benchlab.cli.")} == {"benchlab.cli.main"}
    refuse(found, *HEAVY, *(VALIDATE - HELP))
    assert others(found) <= HELP


def test_validating_imports_what_describes_a_report_type() -> None:
    """No store, no planning, no statistics, no report."""
    path = ROOT / "configs" / "reports" / "sysbench_local.yaml"
    found = imported(COMMAND, "validate", path)
    assert core(found) <= REPORT_TYPES | {"cli"}
    refuse(found, *HEAVY, *(f"benchlab.{name}" for name in NOT_FOR_REPORT_TYPES))
    assert others(found) <= VALIDATE


@pytest.mark.skipif(
    not (Path(sys.executable).with_name("airflow")).exists(), reason="Airflow is not installed"
)
def test_parsing_a_dag_file_imports_what_describes_a_report_type(tmp_path: Path) -> None:
    """The DAG processor parses it again and again, and every task does before it begins."""
    found = imported(
        PARSE,
        ROOT / "dags" / "version_comparison.py",
        AIRFLOW_HOME=str(tmp_path),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        PYTHONPATH=os.pathsep.join([str(ROOT / "include"), str(ROOT / "plugins")]),
    )
    assert core(found) <= REPORT_TYPES
    loaded = HEAVY - {"croniter", "jinja2"}  # Airflow itself has these, and the calendar croniter
    refuse(found, *loaded, *(f"benchlab.{name}" for name in NOT_FOR_REPORT_TYPES))
    assert others(found) <= DAG_FILE
