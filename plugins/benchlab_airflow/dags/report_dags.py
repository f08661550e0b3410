"""Builds one DAG per report type; an invalid one gets a DAG that shows the fault."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context, task
from airflow.sdk.exceptions import AirflowFailException

from benchlab import home
from benchlab.campaign import report_types
from benchlab.errors import BenchlabError
from benchlab_airflow.dags import about, flow

log = logging.getLogger(__name__)


def build_all(
    doc_md: str | None,
    on_target: Mapping[str, str] | None = None,
    by_the_calendar: str = "",
) -> Iterator[DAG]:
    """Build the DAGs of all report types; a broken one does not affect the others.

    A report type whose file or topology broke after a campaign began also keeps its DAG, so that a
    run can give back what it holds; a task that needs the file fails and names it.

    If Airflow parses the file for a single DAG, as before each task, only that one is built.

    >>> [dag.dag_id for dag in build_all(__doc__)]
    ['sysbench_ec2', 'sysbench_local', ...]

    Args:
        doc_md: text for the page of every DAG, after its own top.
        on_target: text to append to it, by target.
        by_the_calendar: text to append if the report type has a schedule.
    """
    asked = get_parsing_context().dag_id
    for path in report_types.report_files(home.find()):
        try:
            spec = report_types.load(path)
            if asked in (None, spec.report):
                on_page, on_form = about.before_the_click(spec)  # it makes a plan
                parts = (
                    about.page(spec, on_page),
                    doc_md,
                    by_the_calendar if spec.schedule else "",
                    (on_target or {}).get(spec.target),
                )
                yield flow.build(spec, path, "\n\n".join(filter(None, parts)), on_form)
        except BenchlabError as error:
            yield from _broken(path, str(error), doc_md)
        except Exception as error:  # noqa: BLE001 - whatever one file raises, the others stay
            yield from _broken(path, f"{path}: {type(error).__name__}: {error}", doc_md)


def _broken(path: Path, fault: str, doc_md: str | None) -> Iterator[DAG]:
    """A DAG that shows the fault, and the last valid one, for campaigns that it began."""
    yield _invalid(path, fault)
    spec = report_types.last_planned(home.find(), path.stem)
    if spec is not None and get_parsing_context().dag_id in (None, spec.report):
        try:
            # Without its schedule: each run would fail.
            unscheduled = spec.model_copy(update={"schedule": None})
            told = f"Nothing new can be started by it:\n\n```\n{fault}\n```\n\n{doc_md or ''}"
            _, on_form = about.before_the_click(unscheduled)
            yield flow.build(unscheduled, path, told, on_form, check_topology=False)
        except Exception:
            log.exception("%s: the DAG of its earlier campaigns cannot be made either", path)


def _invalid(path: Path, fault: str) -> DAG:
    name = "".join(char if char.isalnum() or char in "_-." else "_" for char in path.stem)
    with DAG(
        dag_id=f"invalid_spec_{name}",
        description=f"{path.name} is not valid",
        doc_md=f"`{path.name}` is not valid:\n\n```\n{fault}\n```\n",
        schedule=None,
        tags=["benchlab", "invalid_spec"],
    ) as dag:

        @task(retries=0)
        def show_error() -> None:
            raise AirflowFailException(fault)

        show_error()
    return dag
