"""The load balancer accepts its configuration, and only a server that answers counts as up."""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchlab.errors import CommandError, TargetError
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.load_balancer import HAProxySettings
from benchlab.targets import haproxy
from benchlab.targets.haproxy import (
    Backend,
    HAProxy,
    connection_spread,
    even_threads,
    parse_statistics,
)
from tests.ports import free_port, free_ports

GOLDEN = Path(__file__).parents[2] / "golden" / "haproxy"
needs_haproxy = pytest.mark.skipif(
    shutil.which("haproxy") is None or shutil.which("curl") is None,
    reason="needs haproxy and curl: `make setup`",
)


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[LocalExecutor]:
    """This machine; nothing is left running."""
    made = LocalExecutor(tmp_path, f"test-haproxy-{os.getpid()}-{tmp_path.name}")
    yield made
    made.end_processes()


def balancer(executor: LocalExecutor, tmp_path: Path, **fields: object) -> HAProxy:
    """A load balancer; ``fields`` replaces default arguments."""
    entry, stats, server = free_ports(3)
    made: dict[str, object] = {
        "executor": executor,
        "directory": tmp_path / "side",
        "host": "127.0.0.1",
        "entry_port": entry,
        "stats_port": stats,
        "backends": {"baseline1": f"127.0.0.1:{server}"},
        "maxconn": 110,
        "threads": 2,
        **fields,
    }
    return HAProxy(**made)  # type: ignore[arg-type]


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Something accepts connections on a port."""
    with socketserver.TCPServer(("127.0.0.1", port), socketserver.BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


# ---------------------------------------------------------------- configuration


@needs_haproxy
@pytest.mark.parametrize(
    ("servers", "threads", "maxconn"), [(1, 1, 110), (3, 64, 10_100), (12, 500, 101)]
)
def test_haproxy_accepts_the_configuration(
    executor: LocalExecutor, tmp_path: Path, servers: int, threads: int, maxconn: int
) -> None:
    """The real `haproxy -c` finds no error and has no warning, with up to 64 threads."""
    backends = {f"db{n}": f"127.0.0.1:{4000 + n}" for n in range(servers)}
    made = balancer(executor, tmp_path, backends=backends, threads=threads, maxconn=maxconn)
    made.configure()
    path = tmp_path / "side" / "haproxy.cfg"
    checked = subprocess.run(["haproxy", "-c", "-f", path], capture_output=True, text=True)
    assert checked.returncode == 0
    assert "[WARNING]" not in checked.stderr
    assert "[ALERT]" not in checked.stderr
    text = path.read_text()
    assert all(f"server {name} {address} check" in text for name, address in backends.items())
    assert f"nbthread {min(threads, 64)}\n" in text
    assert "nbproc" not in text


@needs_haproxy
@pytest.mark.parametrize(
    "settings",
    [
        {
            "maxconn": 4000, "nbthread": 64, "retries": 2,
            "timeouts": {"connect": "2s", "client": "30000s", "server": "30000s"},
            "check": {"inter": 2000, "rise": 2, "fall": 3},
        },
        {"retries": 0, "timeouts": {"connect": "2147483647ms", "client": "24d", "server": "1ms"}},
        {
            "maxconn": 100_000, "nbthread": 1, "retries": 1000,
            "check": {"inter": 10_000, "rise": 100, "fall": 100},
        },
    ],
)  # fmt: skip
def test_haproxy_accepts_whatever_a_report_type_may_set(
    executor: LocalExecutor, tmp_path: Path, settings: dict[str, object]
) -> None:
    """The first is a published configuration; every directive of the settings is in the file."""
    chosen = HAProxySettings.model_validate(settings)
    made = balancer(executor, tmp_path, settings=chosen)
    made.configure()
    path = tmp_path / "side" / "haproxy.cfg"
    checked = subprocess.run(["haproxy", "-c", "-f", path], capture_output=True, text=True)
    assert (checked.returncode, "[WARNING]" in checked.stderr) == (0, False)
    written = path.read_text()
    # The limits of connections and threads are arguments of its own: see the published plans.
    for directive in chosen.directives():
        if not directive.startswith(("maxconn", "nbthread")):
            assert directive in written


def test_it_listens_on_loopback_only(executor: LocalExecutor, tmp_path: Path) -> None:
    """Nobody on the network reaches a database under test or its statistics."""
    lines = balancer(executor, tmp_path).render().splitlines()
    binds = [line.split()[1] for line in lines if line.split()[:1] == ["bind"]]
    assert len(binds) == 2
    assert all(address.startswith("127.0.0.1:") for address in binds)


@pytest.mark.parametrize(
    ("cores", "connections", "threads"),
    [(36, (50, 100, 300), 25), (36, (1, 16, 64), 32), (2, (5,), 1), (96, (128,), 64), (8, (3,), 8)],
)
def test_every_connection_shares_its_thread_with_as_many(
    cores: int, connections: tuple[int, ...], threads: int
) -> None:
    """At every thread count of the plan, with as much of the machine as that allows."""
    assert even_threads(cores, connections) == threads


@needs_haproxy
def test_a_refused_configuration_is_quoted(executor: LocalExecutor, tmp_path: Path) -> None:
    """The error quotes HAProxy's message."""
    with pytest.raises(CommandError, match="haproxy -c"):
        balancer(executor, tmp_path, backends={"db1": "no address"}).configure()


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize("name", ["up", "down"])
def test_a_recorded_server_whose_check_failed_is_not_up(name: str) -> None:
    """A server at `UP 1/3` with a failed check (L4CON) is about to go down during a trial."""
    (backend,) = parse_statistics((GOLDEN / f"haproxy_stats_{name}.csv").read_text())
    assert (backend.name, backend.status, backend.check_status) == ("db1", "UP", "L4CON")
    assert backend.sessions in (381, 382)
    assert not backend.up


@pytest.mark.parametrize(
    ("status", "check", "up"),
    [
        ("UP", "L4OK", True),
        ("UP", "* L4OK", True),
        ("UP", "L7OK", True),
        ("UP", "", False),  # not checked yet, but called UP
        ("UP", "INI", False),
        ("UP 1/3", "L4CON", False),
        ("UP 2/3", "L4TOUT", False),
        ("DOWN", "L4CON", False),
        ("DOWN 1/2", "L4OK", False),
        ("MAINT", "", False),
        ("no check", "", False),
        ("DRAIN", "L4OK", False),
    ],
)
def test_up_means_that_a_check_has_succeeded(status: str, check: str, up: bool) -> None:
    """Servers that were not checked yet, or are about to go down or up, are not up."""
    page = (GOLDEN / "haproxy_stats_up.csv").read_text()
    page = page.replace("UP 1/3", status).replace("L4CON", check)
    (backend,) = parse_statistics(page)
    assert backend.up == up


def test_only_servers_are_counted() -> None:
    """The totals of the proxy and the proxy of the statistics are not servers."""
    assert parse_statistics("# pxname,svname,status,check_status,stot\n") == []
    rows = "# pxname,svname,status,check_status,stot\nsql,FRONTEND,OPEN,,1\nsql,a,UP,L4OK,\n"
    rows += "sql,BACKEND,UP,,1\nstatistics,x,UP,L4OK,1\n"
    assert parse_statistics(rows) == [Backend("a", "UP", "L4OK", None)]


@pytest.mark.parametrize("page", ["", "<html>", "# pxname,svname\nsql,a\n", "# pxname,svname,sta"])
def test_a_page_that_is_cut_is_refused(page: str) -> None:
    """A server without a state is neither up nor down."""
    with pytest.raises(ValueError, match="a column or a cell is missing"):
        parse_statistics(page)


@pytest.mark.parametrize(
    ("sessions", "spread"),
    [([7], 0), ([3, 4, 3], 1), ([3, 6], 3), ([0, 2], 2), ([], None), ([3, None], None)],
)
def test_the_spread_of_connections(sessions: list[int | None], spread: float | None) -> None:
    """The most minus the fewest; a missing counter is not zero."""
    backends = [Backend(str(n), "UP", "L4OK", count) for n, count in enumerate(sessions)]
    assert connection_spread(backends) == spread


# ---------------------------------------------------------------- at work


@needs_haproxy
def test_it_is_ready_once_every_server_is_up(
    executor: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection to the entry port reaches the server, whatever proxy the environment names;
    after a stop the port is free.
    """
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_ports(1)[0]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    entry, stats, server = free_ports(3)
    made = balancer(
        executor,
        tmp_path,
        entry_port=entry,
        stats_port=stats,
        backends={"db1": f"127.0.0.1:{server}"},
    )
    made.configure()
    with listening(server):
        made.start()
        (backend,) = made.statistics()
        assert backend.up
        socket.create_connection(("127.0.0.1", entry)).close()
    made.stop()
    made.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", entry))
    with pytest.raises(CommandError):
        made.statistics()


@needs_haproxy
def test_connections_are_spread_to_within_one(executor: LocalExecutor, tmp_path: Path) -> None:
    """Each connection goes to the next server; health checks do not count."""
    entry, stats, *ports = free_ports(5)
    made = balancer(
        executor,
        tmp_path,
        entry_port=entry,
        stats_port=stats,
        backends={f"db{n}": f"127.0.0.1:{port}" for n, port in enumerate(ports)},
    )
    made.configure()
    with ExitStack() as open_ones:
        for port in ports:
            open_ones.enter_context(listening(port))
        made.start()
        assert connection_spread(made.statistics()) == 0, "only health checks so far"
        while sum(backend.sessions or 0 for backend in made.statistics()) < 11:
            open_ones.enter_context(socket.create_connection(("127.0.0.1", entry)))
        assert connection_spread(made.statistics()) in (0, 1)
        made.stop()


@needs_haproxy
def test_a_server_that_stays_down_is_named(
    executor: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial does not start while the load balancer cannot reach a server."""
    monkeypatch.setattr(haproxy, "READY_LIMIT_S", 2.0)
    made = balancer(executor, tmp_path)
    made.configure()
    with pytest.raises(TargetError, match="baseline1 DOWN L4CON"):
        made.start()


@needs_haproxy
def test_haproxys_message_on_a_busy_port_is_quoted(executor: LocalExecutor, tmp_path: Path) -> None:
    """If HAProxy cannot start, the error is immediate and quotes its output."""
    entry = free_port()
    made = balancer(executor, tmp_path, entry_port=entry)
    made.configure()
    with listening(entry), pytest.raises(TargetError, match=f"(?s)HAProxy ended.*{entry}"):
        made.start()


class Foreign(http.server.BaseHTTPRequestHandler):
    """Another program that answers at the statistics port."""

    page = b"<html>"

    def do_GET(self) -> None:
        """Answer anything."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("page", [b"", b"<html>", b"a,b\n1,2\n"])
def test_another_programs_page_is_not_taken_for_statistics(
    executor: LocalExecutor, tmp_path: Path, page: bytes
) -> None:
    """Seeing no servers does not mean that no server is down."""
    handler = type("Handler", (Foreign,), {"page": page})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            made = balancer(executor, tmp_path, stats_port=server.server_port)
            with pytest.raises(CommandError, match="not HAProxy's statistics"):
                made.statistics()
        finally:
            server.shutdown()
            thread.join()
