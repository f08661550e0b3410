"""The page of the DAGs, from the DAGs themselves: their docstrings, forms and tasks.

It loads the files in ``dags/`` as Airflow does, in a temporary Airflow home: it neither reads nor
creates a metadata database, and settings of another Airflow on this machine have no effect.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab_airflow.local.airflow_home import AirflowHome

if TYPE_CHECKING:
    from airflow.sdk import DAG

HEAD = """\
# DAGs

Written by `make docs` from the files in `dags/`.

One DAG per report type, one that ends forgotten fleets, and one that adds new releases.
"""


def page(here: Home) -> str:
    """The whole page.

    Raises:
        SpecError: a report type does not validate.
    """
    with _airflow_of_its_own():
        return "\n".join([HEAD, *map(_section, load(here.project / "dags"))])


def load(folder: Path) -> list[DAG]:
    """The DAGs in all files of a folder, ordered by id.

    Raises:
        SpecError: a report type does not validate, so its section would show an error.
    """
    from airflow.sdk import DAG

    found = {
        value.dag_id: value
        for path in sorted(folder.glob("*.py"))
        for value in runpy.run_path(str(path)).values()
        if isinstance(value, DAG)
    }
    for dag in found.values():
        if "invalid_spec" in dag.tags:  # as report_dags.py tags it
            raise SpecError(f"{dag.description}; `benchlab validate` says why")
    return [found[dag_id] for dag_id in sorted(found)]


def _section(dag: DAG) -> str:
    fields = [*_fields(dag)]
    header = ("field", "title", "section", "default", "allowed", "description")
    unlimited = [f"`{task.task_id}`" for task in dag.tasks if task.execution_timeout is None]
    limited = f"All but {', '.join(unlimited)} have" if unlimited else "Every one has"
    parts = [
        f"## {dag.dag_id}",
        f"**{dag.dag_display_name}**",
        re.sub(r"\A# .*\n", "", dag.doc_md or "").strip(),  # its title is the one above
        f"Schedule: {_schedule(dag)}; {dag.max_active_runs} run at a time.",
        "### Form" if fields else "",
        _table(header, fields) if fields else "",
        "### Tasks",
        f"In the order in which they run. {limited} a time limit; tries count the first.",
        _table(("task", "kind", "runs when", "tries", "directly after"), _tasks(dag)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _schedule(dag: DAG) -> str:
    from airflow.timetables.base import Timetable

    if isinstance(dag.schedule, timedelta):
        return f"every {dag.schedule.total_seconds() / 60:g} minutes"
    if isinstance(dag.schedule, Timetable):
        description = dag.schedule.description
        return f"{description[0].lower()}{description[1:]}; it begins paused"
    return str(dag.schedule or "none, it is triggered")


def _fields(dag: DAG) -> Iterator[tuple[str, ...]]:
    from benchlab_airflow.dags import trigger_form

    for name, param in dag.params.items():
        schema = param.schema
        yield (
            f"`{name}`",
            schema.get("title", ""),
            schema.get("section", ""),
            "" if param.value is None else f"`{json.dumps(param.value, ensure_ascii=False)}`",
            trigger_form.allowed(schema),
            " ".join((param.description or schema.get("description_md", "")).split()),
        )


def _tasks(dag: DAG) -> Iterator[tuple[str, ...]]:
    for task in dag.topological_sort():
        yield (
            f"`{task.task_id}`",
            _kind(task),
            f"`{task.trigger_rule.value}`",
            str(task.retries + 1),
            ", ".join(f"`{upstream}`" for upstream in sorted(task.upstream_task_ids)),
        )


def _kind(task: Any) -> str:
    known = {
        "is_setup": "setup",
        "is_teardown": "teardown",
        "on_failure_fail_dagrun": "its failure fails the run",
    }
    words = [word for attribute, word in known.items() if getattr(task, attribute, False)]
    if task.is_mapped:
        limit = task.max_active_tis_per_dagrun
        words.append("mapped" if limit is None else f"mapped, {limit} at a time")
        if task.partial_kwargs.get("deferrable"):
            words.append("deferred while the client runs")
    if answer_within := getattr(task, "response_timeout", None):
        words.append(f"waits for a person, {answer_within.days} days at most")
    return "; ".join(words)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


@contextmanager
def _airflow_of_its_own() -> Iterator[None]:
    """Set the environment of an empty Airflow home; Airflow reads it when it is first imported."""
    with tempfile.TemporaryDirectory(prefix="benchlab-") as directory:
        environment = AirflowHome(Path(directory)).environment()
        os.environ.clear()
        os.environ.update(environment)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Airflow's own deprecations
            yield
