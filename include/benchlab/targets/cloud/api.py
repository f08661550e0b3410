"""Calls the TiDB Cloud Dedicated API, ``v1beta1``.

Its description: https://docs.pingcap.com/tidbcloud/api/v1beta1/dedicated. The API key is the
Connection ``tidb_cloud``: its host is that of the API, its login the public key, its password the
private key, and ``extra.ssl.ca`` the file of the authority that signs the clusters' certificates.

Example:
    ``Api(login_of(Access())).get("/clusters", pageSize=100)["clusters"]``
"""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from benchlab.errors import TargetError
from benchlab.hosts import server_login
from benchlab.hosts.access import Access
from benchlab.hosts.answers import from_json
from benchlab.hosts.server_login import ServerLogin
from benchlab.targets.ec2.calls import doubling, moment

if TYPE_CHECKING:
    import httpx

CONNECTION = "tidb_cloud"
HOST, PORT = "dedicated.tidbapi.com", 443
ANSWER_S = 30.0
# A page of a list has a hundred clusters, of a few kB each.
MOST_BYTES = 8 << 20
_HOW = (
    f"on the command line set {server_login.variable_of(CONNECTION)}=mysql://PUBLIC_KEY:PRIVATE_KEY"
    f"@{HOST}:{PORT}?ssl_mode=VERIFY_IDENTITY&ssl=%7B%22ca%22:%22/path/to/ca.pem%22%7D, in Airflow "
    f"make a Connection {CONNECTION}; TiDB Cloud's console makes the key (Organization Settings, "
    "API Keys) and has the clusters' CA certificate"
)


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds.

    Attributes:
        pause: the longest wait between two requests.
        outage: while the API does not answer, or answers with a server error.
        rate: while the API refuses requests as too many; its limit is one per minute.
        create: until a cluster is active; TiDB Cloud says 20 to 30 minutes.
        endpoint: until its endpoint is there, and its name resolves.
        delete: until a cluster is gone.
    """

    pause: float = 10.0
    outage: float = 180.0
    rate: float = 300.0
    create: float = 3600.0
    endpoint: float = 900.0
    delete: float = 1800.0

    def polls(self) -> Iterator[float]:
        """Seconds to wait before each further request; see :func:`doubling`."""
        return doubling(self.pause)


PATIENT = Limits()


class UnansweredError(TargetError):
    """It is not known whether a request has been carried out."""


class NotFoundError(TargetError):
    """The API does not have what a request names."""


class RefusedError(TargetError):
    """The API refuses a request, as it stands or for now."""


def login_of(access: Access) -> ServerLogin:
    """The API key.

    Raises:
        TargetError: there is none, or it is not complete; says what to do.
    """
    try:
        login = access.server(CONNECTION)
    except TargetError as error:
        what = str(error).partition(". ")[0]
        raise TargetError(f"{what}; TiDB Cloud's API key is needed: {_HOW}") from error
    if not login.password:
        raise TargetError(f"connection {CONNECTION}: password: missing, the private key; {_HOW}")
    if login.tls is None or login.tls.ca is None:
        raise TargetError(
            f"connection {CONNECTION}: extra.ssl.ca: missing; without it nobody knows that a "
            f"cluster is TiDB Cloud's: {_HOW}"
        )
    return login


class Api:
    """The API, called with one key.

    A request is repeated while the API cannot be reached, fails, or has had too many requests. One
    that may have been carried out already is repeated only if the caller allows that.
    """

    def __init__(self, login: ServerLogin, limits: Limits = PATIENT) -> None:
        import httpx  # not for commands that only name the target

        self._login, self.limits = login, limits
        self._behind: timedelta | None = None
        port = PORT if login.port == server_login.PORT else login.port
        # The API itself has HTTPS only.
        scheme = "http" if _is_loopback(login.host) else "https"
        self._client = httpx.Client(
            base_url=f"{scheme}://{login.host}:{port}/v1beta1",
            auth=httpx.DigestAuth(login.user, login.password),
            timeout=ANSWER_S,
            # Requests are seconds apart, and nobody closes the client.
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_bound]},
        )

    def now(self) -> datetime:
        """The present by the API's clock, or if it does not answer, by this machine's."""
        import httpx

        if self._behind is None:
            with contextlib.suppress(httpx.HTTPError):
                self._note_time(self._client.get("/clusters", params={"pageSize": 1}))
        return datetime.now(UTC) + (self._behind or timedelta())

    def _note_time(self, answer: httpx.Response) -> None:
        if (there := moment(answer.headers.get("Date", ""))) is not None:
            self._behind = there - datetime.now(UTC)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Send a GET request and return the answer. Raises as :meth:`call`."""
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        query: dict[str, Any] | None = None,
        repeatable: bool = True,
    ) -> dict[str, Any]:
        """Send one request and return the answer.

        Args:
            repeatable: whether it may be sent again if it may have been carried out.

        Raises:
            NotFoundError, RefusedError: the API says so.
            UnansweredError: it may have been carried out or not.
            TargetError: the key is refused, or the API cannot be reached for too long.
        """
        import httpx

        named = f"TiDB Cloud: {method} {path}"
        began, polls = time.monotonic(), self.limits.polls()
        while True:
            try:
                answer = self._client.request(method, path, json=body, params=query)
            except httpx.HTTPError as error:
                fault = self._unreached(error, named)
            else:
                self._note_time(answer)
                if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                    self._wait_for_reset(answer, named, time.monotonic() - began)
                    continue
                if not answer.is_server_error:
                    return _document(answer, named)
                said = f"status {answer.status_code}: {_message(answer)}"
                fault = UnansweredError(f"{named}: {said}")
            is_open = isinstance(fault, UnansweredError) and not repeatable
            if is_open or time.monotonic() - began > self.limits.outage:
                raise fault
            time.sleep(next(polls))

    def _unreached(self, error: httpx.HTTPError, named: str) -> TargetError:
        import httpx

        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return TargetError(
                f"{named}: {self._login.host} cannot be reached; see whether this machine may "
                "connect to it, and try again"
            )
        return UnansweredError(f"{named}: the connection was lost before the answer")

    def _wait_for_reset(self, answer: httpx.Response, named: str, waited: float) -> None:
        if waited > self.limits.rate:
            raise TargetError(
                f"{named}: more requests than TiDB Cloud allows this key in a minute, for "
                f"{waited:.0f} s; see what else uses the key"
            )
        time.sleep(_until_reset(answer, self.limits))


def _bound(answer: httpx.Response) -> None:
    """Have httpx refuse an endless or packed answer while it reads it, whatever its status."""
    import httpx

    whole = cast(httpx.SyncByteStream, answer.stream)

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in whole:
                size += len(piece)
                # A packed answer may be a thousand times longer when unpacked.
                if size > MOST_BYTES or "Content-Encoding" in answer.headers:
                    raise TargetError(
                        f"TiDB Cloud: {answer.url.host} answers with more than "
                        f"{MOST_BYTES >> 20} MB, or packed; is it {HOST}?"
                    )
                yield piece

        def close(self) -> None:
            whole.close()

    answer.stream = Bounded()


def _document(answer: httpx.Response, named: str) -> dict[str, Any]:
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise TargetError(
            f"{named}: the API key is refused (status 401): connection {CONNECTION}: login is the "
            "public key, password the private key of a key that TiDB Cloud's console lists"
        )
    said = f"{named}: status {answer.status_code}: {_message(answer)}"
    if answer.status_code == HTTPStatus.NOT_FOUND:
        raise NotFoundError(said)
    if answer.is_error:
        raise RefusedError(said)
    try:
        found = from_json(answer.content)
    except ValueError as error:
        raise TargetError(f"{named}: the answer is {error}; is its host {HOST}?") from error
    if not isinstance(found, dict):
        raise TargetError(f"{named}: the answer is not an object; is its host {HOST}?")
    return found


def _message(answer: httpx.Response) -> str:
    """What the API says about an error, which is English prose for people."""
    try:
        return str(from_json(answer.content)["message"]).rstrip(".")
    except (ValueError, KeyError, TypeError):
        return "without a reason"


def _until_reset(answer: httpx.Response, limits: Limits) -> float:
    """Seconds until the minute in which the limit was reached is over.

    TiDB Cloud's description has the first header; the second is HTTP's own (RFC 9110, 10.2.3).
    """
    headers = answer.headers
    written = headers.get("X-Ratelimit-Reset") or headers.get("Retry-After", "")
    return min(float(written), 60.0) if written.isdecimal() else limits.pause


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
