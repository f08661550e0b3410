"""The page of the faults that were tried, from the marks of the tests that try them.

A test shows a promise with ``@pytest.mark.fault("what fails", promise="what holds", of="disks")``;
``of`` is a heading of the page.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchlab.errors import SpecError
from benchlab.home import Home

PLACE = "docs/RELIABILITY.md"
HEADINGS = {
    "processes": "Processes of Benchlab are killed",
    "servers": "Servers and clients die or refuse",
    "hosts": "Hosts and links are lost",
    "cloud": "A cloud refuses, forgets or takes away",
    "disks": "Disks are full",
    "results": "Store, objects and reports are away",
    "airflow": "Airflow and its tasks fail",
}
HEAD = """\
# What happens when something fails

Written by `make docs` from the marks of the tests: each row is a fault that a test causes, and what
the test then finds. AWS, TiUP and TiDB clusters are simulated there ([contracts](CONTRACTS.md));
processes, disks, SSH, databases and Airflow are real ones.
"""


class Fault(NamedTuple):
    """A mark: what fails, what is promised, under which heading, and the test that shows it."""

    of: str
    what: str
    promise: str
    file: str
    test: str


def page(here: Home) -> str:
    """The whole page.

    Raises:
        SpecError: a mark is not written as it has to be.
    """
    faults = [*_faults(here.project)]
    parts = [HEAD, f"{len(faults)} faults were tried.\n"]
    for of, heading in HEADINGS.items():
        rows = [
            f"| {one.what} | {one.promise} | [{_words(one.test)}](../{one.file}) |"
            for one in faults
            if one.of == of
        ]
        parts += [f"## {heading}\n", "| what fails | what is promised | shown by |\n|---|---|---|"]
        parts += ["\n".join(rows), ""]
    return "\n".join(parts)


def _faults(project: Path) -> Iterator[Fault]:
    for path in sorted((project / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "pytest.mark.fault(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    yield from _of_test(node, path.relative_to(project).as_posix())


def _of_test(test: ast.FunctionDef, file: str) -> Iterator[Fault]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fault":
            try:
                (what,) = map(ast.literal_eval, mark.args)
                named = {str(k.arg): str(ast.literal_eval(k.value)) for k in mark.keywords}
                fault = Fault(what=what, file=file, test=test.name, **named)
                HEADINGS[fault.of]
            except (ValueError, TypeError, KeyError) as error:
                raise SpecError(
                    f"{file}: {test.name}: its mark is not fault('...', promise='...', of='...') "
                    f"with one of {', '.join(HEADINGS)}"
                ) from error
            yield fault


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")
