"""What a cluster's servers report over HTTP, asked with ``curl`` on the client's host.

Routes: TiDB's status port ``/status``, ``/info``, ``/config`` and ``/schema/<name>``; PD's API
``/pd/api/v1/stores``, ``/health``, ``/status``, ``/config``, ``/regions``, ``/stats/region``,
``/regions/check/...`` and ``/operators``; TiKV's status port ``/config``. Sizes and durations are
text there (``1GiB``, ``10s``). What a version does not report is None.

Example:
    ``ask(executor, [url]).must(url)["version"]``
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from benchlab.errors import CommandError, EngineError
from benchlab.hosts.answers import from_json
from benchlab.hosts.executor import Executor

CONNECT_LIMIT_S = 3
ASK_LIMIT_S = 10
WRITE_OUT = "\\nbenchlab-http-code %{http_code}\\n"
MARK = r"\nbenchlab-http-code (\d{3})\n"

Kind = TypeVar("Kind")
_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class Server:
    """A TiDB or PD server.

    Attributes:
        identity: changes whenever the server starts; None if it is not reported.
        built_at: when it was built, as PD writes it; None if it is not reported.
    """

    version: str
    git_hash: str | None
    identity: str | None
    built_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class Store(Server):
    """A TiKV server as PD sees it; its version is without a leading ``v``, as TiKV writes it.

    Attributes:
        id: its number.
        address: ``10.0.0.1:20160``.
        state: ``Up``, ``Disconnected``, ``Down``, ``Offline``, ``Tombstone``.
    """

    id: int
    address: str
    state: str
    leaders: int


@dataclass(frozen=True)
class Answers:
    """What servers answered, by URL.

    Attributes:
        found: the JSON of each answer; None if the server has no such route. A server that
            answers with an error (503 from a PD without a leader) counts as silent and is missing.
        complaint: what ``curl`` printed about servers that did not answer, and answers that were
            errors.
    """

    found: Mapping[str, Any]
    complaint: str

    def get(self, url: str) -> Any:
        """The answer of one URL; None if the server has no such route.

        Raises:
            EngineError: it did not answer.
        """
        if url not in self.found:
            raise EngineError(f"{url}: no answer: {self.complaint}")
        return self.found[url]

    def must(self, url: str) -> Any:
        """The answer of one URL, which must exist.

        Raises:
            EngineError: it did not answer, or has no such route.
        """
        answer = self.get(url)
        if answer is None:
            raise EngineError(f"{url}: there is no such route")
        return answer


def ask(executor: Executor, urls: Sequence[str]) -> Answers:
    """Ask several servers over HTTP with one command on one host.

    Raises:
        EngineError: an answer is not JSON, or ``curl`` itself cannot be run.
    """
    command = ["curl", "--silent", "--show-error", "--noproxy", "*", "--write-out", WRITE_OUT]
    limits = ["--connect-timeout", str(CONNECT_LIMIT_S), "--max-time", str(ASK_LIMIT_S)]
    timeout_s = ASK_LIMIT_S * len(urls) + 20
    try:
        done = executor.run([*command, *limits, *urls], timeout_s=timeout_s, check=False)
    except CommandError as error:
        raise EngineError(f"the servers cannot be asked over HTTP: {error}") from error
    return read_answers(urls, done.stdout, done.stderr)


def post(executor: Executor, url: str, bodies: Sequence[Mapping[str, Any]]) -> None:
    """Send JSON to one URL, several times, with one command on one host.

    Refusals by the server are not reported: the caller has to see whether it took effect.

    Raises:
        EngineError: ``curl`` itself cannot be run, or the server does not answer.
    """
    shared = f'noproxy = "*"\nconnect-timeout = {CONNECT_LIMIT_S}\nmax-time = {ASK_LIMIT_S}'
    each = [
        f'{shared}\noutput = "/dev/null"\nurl = "{url}"\ndata = {json.dumps(json.dumps(body))}'
        for body in bodies
    ]
    command, config = ["curl", "--silent", "--show-error", "--config", "-"], "\nnext\n".join(each)
    try:
        executor.run(command, stdin=config, timeout_s=ASK_LIMIT_S * len(bodies) + 20)
    except CommandError as error:
        raise EngineError(f"{url} cannot be reached: {error}") from error


def read_answers(urls: Sequence[str], stdout: str, stderr: str) -> Answers:
    """What one ``curl`` printed for its URLs: each body, then :data:`WRITE_OUT`.

    Raises:
        EngineError: an answer is not JSON, or there are fewer or more answers than URLs.
    """
    *parts, rest = re.split(MARK, stdout)
    bodies, codes = parts[::2], parts[1::2]
    if len(codes) != len(urls):
        raise EngineError(
            f"{', '.join(urls)}: curl printed {len(codes)} answers: {stderr.strip() or rest[:200]}"
        )
    found: dict[str, Any] = {}
    complaints = [stderr.strip()]
    for url, body, code in zip(urls, bodies, codes, strict=True):
        if code == "200":
            try:
                found[url] = from_json(body)
            except ValueError as error:
                raise EngineError(f"{url}: the answer is {error}: {body[:200]!r}") from error
        elif code == "404":
            found[url] = None
        elif code != "000":  # curl's code for no answer at all
            complaints.append(f"{url}: HTTP {code}: {body.strip()[:200]}")
    return Answers(found, "; ".join(filter(None, complaints)))


def field(answer: Any, key: str, kind: type[Kind], where: str, absent: Kind | None = None) -> Kind:
    """A field of an answer, of the type that it has to have.

    Args:
        where: the host and the URL, for the error.
        absent: the value if the field is missing, which is how proto3 writes zero and empty; None:
            it must not be missing.

    Raises:
        EngineError: the field is missing or of another type; names it, and where.

    Example:
        ``field({}, "leader_count", int, "http://10.0.0.1:2379/pd/api/v1/stores", 0)`` is 0.
    """
    value = typed(answer, dict, f"{where}: the answer").get(key)
    if value is None and absent is not None:
        return absent
    return typed(value, kind, f"{where}: the field {key}")


def typed(value: Any, kind: type[Kind], what: str) -> Kind:
    """The value, if it is of this type. Raises EngineError as :func:`field`."""
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    found = "missing" if value is None else f"{json.dumps(value)[:80]}"
    raise EngineError(
        f"{what} has to be {_KINDS[kind]}, and is {found}; check what answers there, and which "
        "version it is"
    )


def read_tidb(where: str, status: Any, info: Any) -> Server:
    """Read TiDB's ``/status`` and ``/info``; the latter is None if there is no such route.

    ``{"connections":0,"version":"5.7.25-TiDB-v6.5.0","git_hash":"706c..."}``; a server has a new
    ``ddl_id`` after every start.
    """
    identity = None if info is None else field(info, "ddl_id", str, where, "") or None
    return Server(field(status, "version", str, where), _commit(where, status), identity)


def read_pd(where: str, status: Any) -> Server:
    """Read PD's ``/status``.

    ``{"build_ts":"2022-12-23 13:41:24","version":"v6.5.0","git_hash":"...",
    "start_timestamp":1669...}``
    """
    version = field(status, "version", str, where)
    built_at = field(status, "build_ts", str, where, "") or None
    started = _identity(status.get("start_timestamp"))
    return Server(version, _commit(where, status), started, built_at)


def read_stores(where: str, answer: Any) -> tuple[Store, ...]:
    """Read PD's ``/stores``; a store that is down has no figures and counts as leading nothing.

    ``{"count":1,"stores":[{"store":{"id":1,"address":"10.0.0.1:20160","version":"6.5.0",
    "git_hash":"...","start_timestamp":1669...,"state_name":"Up"},
    "status":{"leader_count":10,"region_count":30,"start_ts":"2022-..."}}]}``
    """
    stores = []
    for entry in field(answer, "stores", list, where, []):
        store, status = field(entry, "store", dict, where), field(entry, "status", dict, where, {})
        started = store.get("start_timestamp") or status.get("start_ts")
        stores.append(
            Store(
                id=field(store, "id", int, where),
                address=field(store, "address", str, where),
                state=field(store, "state_name", str, where),
                version=field(store, "version", str, where),
                git_hash=_commit(where, store),
                identity=_identity(started),
                leaders=field(status, "leader_count", int, where, 0),
            )
        )
    return tuple(sorted(stores, key=lambda store: store.address))


def read_unhealthy(where: str, answer: Any) -> list[str]:
    """Names of PD's members that are not healthy, from ``/health``."""
    return [
        field(entry, "name", str, where)
        for entry in typed(answer, list, f"{where}: the answer")
        if not field(entry, "health", bool, where, absent=False)
    ]


def read_table_ids(where: str, answer: Any) -> list[int]:
    """The numbers of a schema's tables and their partitions, from TiDB's ``/schema/<name>``.

    ``[{"id":104,"name":{"O":"sbtest1","L":"sbtest1"},"partition":null,...}]``
    """
    found = []
    for table in typed(answer, list, f"{where}: the answer"):
        partition = field(table, "partition", dict, where, {})
        for part in (table, *field(partition, "definitions", list, where, [])):
            found.append(field(part, "id", int, where))
    return found


def flatten(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """A nested configuration as texts by dotted name; booleans are ``true``/``false``, lists JSON.

    Example:
        ``flatten({"log": {"level": "info"}})`` is ``{"log.level": "info"}``.
    """
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{above}{key}.")
        elif isinstance(value, str):
            flat[f"{above}{key}"] = value
        else:
            flat[f"{above}{key}"] = json.dumps(value, sort_keys=True)
    return flat


def _commit(where: str, answer: Any) -> str | None:
    """The commit of a server; one that was built outside of git says `None`, TiKV `Unknown ...`."""
    text = field(answer, "git_hash", str, where, "")
    return text if re.fullmatch("[0-9a-f]+", text) else None


def _identity(started: Any) -> str | None:
    return None if started is None else str(started)
