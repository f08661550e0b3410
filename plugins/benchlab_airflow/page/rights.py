"""Decides who may see and do what on the site, by asking Airflow's auth manager."""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from airflow.sdk import conf
from fastapi import Depends, Query, Request
from itsdangerous import BadData, URLSafeTimedSerializer

from benchlab import home
from benchlab.campaign import report_types
from benchlab.campaign.asking import Asking
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import StoreError
from benchlab.home import Home
from benchlab.language import REFERENCE, Message, codes, load, message
from benchlab.results.store import Store
from benchlab.site.page import PageError, Site
from benchlab_airflow.connections import access, open_store
from benchlab_airflow.page import airflow_runs
from benchlab_airflow.private_names import (
    AccessView,
    BaseUser,
    DagAccessEntity,
    DagDetails,
    DagModel,
    GetUserDep,
    get_auth_manager,
    requires_access_view,
)

log = logging.getLogger(__name__)
# A page left open overnight still works; an older one has to be reloaded.
GUARD_LASTS_S = 24 * 3600
# The cookie with the language that a person chose last.
LANGUAGE = "benchlab_language"
_SAME_SITE = ("same-origin", "none")
# Airflow's own API, which starts a run with the rights of the user whose browser calls it.
_API = "../api/v2/dags/{report}/dagRuns"


class NotAllowed(PageError):
    """The user may not change this, or not with this form."""


class _Shared:
    """The store, with its pool of connections, shared by all requests; reopened after a failure."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._turn = threading.Lock()

    def store(self) -> Store:
        with self._turn:
            if self._store is None:
                self._store = open_store(home.find())
            return self._store

    def forget(self) -> None:
        """Close the store; the next request reopens it, perhaps by a changed Connection."""
        with self._turn:
            if self._store is not None:
                self._store.close()
            self._store = None


shared = _Shared()
asking = Asking()


@dataclass(frozen=True)
class Reader:
    """The user, and the site as they may see it: only report types whose runs they may read.

    Attributes:
        site: without the right to change anything; :meth:`of` adds it for one report type.
    """

    user: BaseUser
    site: Site

    def of(self, report: str) -> Site:
        """The site for a page about one report type.

        For users who may trigger its DAG, it allows changes and asks mirrors and servers.
        """
        if not may_trigger(self.user, report):
            return self.site
        here = self.site
        ask = functools.partial(
            asking.resolved, Resolver(here.home, here.store, access(), Asks.MIRRORS)
        )
        return dataclasses.replace(here, may_change=True, ask=ask)

    def of_all(self) -> Site:
        """The site for a page about all report types; allows changes to who may trigger all."""
        may = all(may_trigger(self.user, report) for report in self.site.reports or ())
        return dataclasses.replace(self.site, may_change=may)


class _Readable(Collection[str]):
    """The report types whose runs a user may read.

    The list of all report types is read only if needed: an open page keeps asking about one.
    """

    def __init__(self, user: BaseUser, known: Callable[[], Collection[str]]) -> None:
        self._may = functools.cache(functools.partial(_may, user, "GET"))
        self._known = functools.cache(known)

    def __contains__(self, report: object) -> bool:
        return self._may(str(report))

    def __iter__(self) -> Iterator[str]:
        return filter(self._may, self._known())

    def __len__(self) -> int:
        return len(list(iter(self)))


def person(
    user: GetUserDep, _allowed: Annotated[None, Depends(requires_access_view(AccessView.WEBSITE))]
) -> BaseUser:
    """The user of a request, who may see Airflow's website. Every route depends on it.

    Raises:
        HTTPException: 401 without a login, 403 if the user may not see the website.
    """
    return user


def reader(
    request: Request,
    user: Annotated[BaseUser, Depends(person)],
    language: Annotated[str | None, Query(max_length=20)] = None,
    answers_as: Annotated[Literal["html", "json"], Query(alias="format")] = "html",
) -> Reader:
    """The user and what they may see. Every route that shows data of the store depends on it.

    Raises:
        HTTPException: as :func:`person`.
        StoreError: the results store cannot be opened.
    """
    store, wanted = shared.store(), (language, request.cookies.get(LANGUAGE), REFERENCE)
    here = home.find()
    made = Site(
        home=here,
        store=store,
        language=load(next(one for one in wanted if one in codes())),
        now=datetime.now(UTC),
        as_json=answers_as == "json",
        reports=_Readable(user, functools.partial(_known, here, store)),
        guard=_signer().dumps(user.get_id()),
        starts_at=_API,
        run_of=airflow_runs.address_of,
        paused_dag=airflow_runs.paused_dag,
        runs_of=airflow_runs.latest,
    )
    request.state.site = made
    return Reader(user, made)


ReaderDep = Annotated[Reader, Depends(reader)]


def may_trigger(user: BaseUser, report: str) -> bool:
    """Whether a user may trigger a report type's DAG."""
    return _may(user, "POST", report)


def changer(request: Request, reader: ReaderDep, guard: str, report: str) -> None:
    """Refuse a form that changes something, unless a page of the site sent it for this user.

    Raises:
        NotAllowed: another site sent the form, its page is too old, or the user may not trigger the
            DAG of ``report``.
    """
    origin, fetched = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    elsewhere = fetched is not None and fetched not in _SAME_SITE
    if elsewhere or (origin is not None and urlsplit(origin).netloc not in _own_hosts(request)):
        raise NotAllowed(message("site-from-elsewhere"))
    try:
        signed = _signer().loads(guard, max_age=GUARD_LASTS_S)
    except BadData:
        signed = None
    if signed != reader.user.get_id():
        raise NotAllowed(message("site-too-old"))
    if not reader.site.shows(report) or not may_trigger(reader.user, report):
        raise NotAllowed(message("site-may-not-trigger", dag=report))


def _own_hosts(request: Request) -> set[str]:
    """The hosts that this server is known by: that of the request, and Airflow's own address.

    Schemes are not compared, as a proxy in front of Airflow may change them.
    """
    known = str(request.base_url), conf.get("api", "base_url", fallback="")
    return {urlsplit(address).netloc for address in known} - {""}


def _may(user: BaseUser, method: Literal["GET", "POST"], report: str) -> bool:
    """Whether a user may read (GET) or start (POST) runs of a report type."""
    has_teams = conf.getboolean("core", "multi_team", fallback=False)
    team = DagModel.get_team_name(report) if has_teams else None  # asks Airflow's database
    return get_auth_manager().is_authorized_dag(
        method=method,
        access_entity=DagAccessEntity.RUN,
        details=DagDetails(id=report, team_name=team),
        user=user,
    )


def _known(here: Home, store: Store) -> set[str]:
    """The names of report types that have a file or campaigns."""
    return {path.stem for path in report_types.report_files(here)} | set(store.report_names())


def _signer() -> URLSafeTimedSerializer:
    key = conf.get_mandatory_value("api", "secret_key")
    return URLSafeTimedSerializer(key, salt="benchlab-page")


def store_failed(error: StoreError) -> Message:
    """The message for users; the store is reopened for the next request.

    Details, such as the store's address, go to the API server's log only.
    """
    log.error("%s", error)
    shared.forget()
    return message("site-store-failed")
