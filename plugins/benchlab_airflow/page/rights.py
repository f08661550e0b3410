"""Who sees what of the site: asks Airflow's auth manager, with the request's own user."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import (
    AccessView,
    DagAccessEntity,
    DagDetails,
)
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_view
from fastapi import Depends, Query

from benchlab import home
from benchlab.language import REFERENCE, codes, load
from benchlab.results.store import Store
from benchlab.site.page import Site
from benchlab_airflow.connections import open_store


@cache
def _store() -> Store:
    """One for all requests: it has a pool of connections."""
    return open_store(home.find())


def site_of(
    user: GetUserDep,
    _allowed: Annotated[None, Depends(requires_access_view(AccessView.WEBSITE))],
    language: Annotated[str | None, Query()] = None,
) -> Iterator[Site]:
    """The site as one reader sees it: the report types whose DAG's runs they may read."""
    store = _store()
    reports = {one.report for one in store.summaries()}
    may = get_auth_manager().is_authorized_dag
    permitted = frozenset(
        report
        for report in reports
        if may(
            method="GET",
            access_entity=DagAccessEntity.RUN,
            details=DagDetails(id=report),
            user=user,
        )
    )
    code = language if language in codes() else REFERENCE
    kept = {} if language is None else {"language": code}
    yield Site(home.find(), store, load(code), datetime.now(UTC), permitted, kept=kept)
