"""Makes one DAG per report type; one that does not validate gets a DAG that shows the fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context, task
from airflow.sdk.exceptions import AirflowFailException

from benchlab import home
from benchlab.campaign import report_types
from benchlab.errors import BenchlabError
from benchlab_airflow.dags import flow


def build_all(doc_md: str | None, on_target: Mapping[str, str] | None = None) -> Iterator[DAG]:
    """The DAGs of all report types; a broken one does not affect the others.

    Where Airflow reads the file for a single DAG, as before each task, only that one is built.

    >>> [dag.dag_id for dag in build_all(__doc__)]
    ['sysbench_ec2', 'sysbench_local', ...]

    Args:
        doc_md: the page of every DAG.
        on_target: text to append to it, by target.
    """
    asked = get_parsing_context().dag_id
    for path in report_types.report_files(home.find()):
        try:
            spec = report_types.load(path)
            if asked in (None, spec.report):
                yield flow.build(
                    spec, path, (doc_md or "") + (on_target or {}).get(spec.target, "")
                )
        except BenchlabError as error:
            yield _invalid(path, str(error))
        except Exception as error:  # noqa: BLE001 - whatever one file brings up, the others stay
            yield _invalid(path, f"{path}: {type(error).__name__}: {error}")


def _invalid(path: Path, fault: str) -> DAG:
    name = "".join(char if char.isalnum() or char in "_-." else "_" for char in path.stem)
    with DAG(
        dag_id=f"invalid_spec_{name}",
        description=f"{path.name} does not validate",
        doc_md=f"`{path.name}` does not validate:\n\n```\n{fault}\n```\n",
        schedule=None,
        tags=["benchlab", "invalid_spec"],
    ) as dag:

        @task(retries=0)
        def show_error() -> None:
            raise AirflowFailException(fault)

        show_error()
    return dag
