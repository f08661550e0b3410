"""A server of the stand-in for TiUP: PD, TiKV or TiDB as far as Benchlab sees them from outside.

    python3 standin_server.py NAME   in its deploy directory, with conf/standin.json

Tests only. On the first TiKV host a real MariaDB keeps the data, inside that TiKV's data
directory; TiDB servers hand connections on to it; the status routes answer over HTTP. It runs
with Debian's python3 and its standard library, for it is copied to hosts that have no more. Every
start of a side starts five of it: what only one of them needs is imported where it is used.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

PLACEHOLDER = "space_placeholder_file"

# What a TiDB server is asked, and what MariaDB is asked instead.
INSTEAD = (
    (re.compile(rb"ADMIN CHECKSUM TABLE (\w+)\.(\w+)"), b"CALL mysql.admin_checksum('%s', '%s')"),
    (re.compile(rb"SET GLOBAL (tidb_\w+) = (\w+)"), b"CALL mysql.set_tidb_variable('%s', '%s')"),
    (re.compile(rb"SHOW GLOBAL VARIABLES"), b"CALL mysql.show_variables()"),
)
# Of a checksum each row and each entry of an index is a key-value; it covers the keys, which have a
# number of the cluster's own in them (here the port), as TiDB's pkg/executor/checksum.go has it.
# Variables are some that v5.0 to v5.4 have, with their defaults there (sessionctx/variable); a
# switch is shown as ON or OFF, whatever it was set to, and a name that is not here is refused.
PROCEDURES = """
CREATE TABLE mysql.tidb_variables (name VARCHAR(64) PRIMARY KEY, value VARCHAR(64) NOT NULL);
INSERT INTO mysql.tidb_variables VALUES
  ('tidb_hashagg_final_concurrency', '-1'), ('tidb_hashagg_partial_concurrency', '-1'),
  ('tidb_enable_async_commit', 'ON'), ('tidb_enable_1pc', 'ON'),
  ('tidb_guarantee_linearizability', 'ON'), ('tidb_enable_clustered_index', 'INT_ONLY');
DELIMITER //
CREATE PROCEDURE mysql.show_variables()
BEGIN
  SELECT LOWER(variable_name), variable_value FROM information_schema.global_variables
    UNION ALL SELECT name, value FROM mysql.tidb_variables;
END//
CREATE PROCEDURE mysql.set_tidb_variable(IN n VARCHAR(64), IN v VARCHAR(64))
BEGIN
  IF NOT EXISTS (SELECT 1 FROM mysql.tidb_variables WHERE name = n) THEN
    SET @said = CONCAT("Unknown system variable '", n, "'");
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1193, MESSAGE_TEXT = @said;
  END IF;
  UPDATE mysql.tidb_variables
    SET value = IF(value REGEXP '^-?[0-9]+$', v, IF(v IN ('1', 'ON'), 'ON', 'OFF'))
    WHERE name = n;
END//
CREATE PROCEDURE mysql.admin_checksum(IN s VARCHAR(64), IN t VARCHAR(64))
BEGIN
  SET @each = 1 + (SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics
    WHERE table_schema = s AND table_name = t AND index_name <> 'PRIMARY');
  SET @row = (SELECT GROUP_CONCAT(CONCAT('COALESCE(`', column_name, '`, "")')
    ORDER BY ordinal_position) FROM information_schema.columns
    WHERE table_schema = s AND table_name = t);
  SET @ask = CONCAT('SELECT "', s, '", "', t, '", BIT_XOR(CRC32(CONCAT_WS("#", @@port, ', @row,
    '))), COUNT(*) * ', @each, ', COALESCE(SUM(LENGTH(CONCAT_WS("#", ', @row, '))), 0) FROM `',
    s, '`.`', t, '`');
  PREPARE asked FROM @ask;
  EXECUTE asked;
END//
"""


class Database:
    """A real MariaDB in the data directory of a TiKV server."""

    def __init__(self, settings: dict[str, Any], data: Path) -> None:
        self.base, self.port = Path(settings["base"]), settings["port"]
        self.version, self.data = settings["version"], data / "mariadb"
        # Socket paths may not be longer than 107 bytes.
        self.socket = f"/tmp/standin-{self.port}.sock"
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        fresh = not self.data.exists()
        if fresh:
            self.install()
        # The packages' programs may only be root's to execute; the server then becomes the user.
        program = next(p for p in ("mariadbd", "mysqld") if (self.base / "bin" / p).exists())
        self.process = subprocess.Popen(
            [
                *self.as_root(self.base / "bin" / program, "--no-defaults"),
                f"--basedir={self.base}",
                f"--datadir={self.data}",
                f"--user={getpass.getuser()}",
                f"--port={self.port}",
                "--bind-address=0.0.0.0",
                f"--socket={self.socket}",
                f"--pid-file={self.pid_file}",
                f"--version={self.version}",
                "--max-connections=2000",
                "--innodb-flush-log-at-trx-commit=2",
                # Every snapshot has a copy of it.
                "--innodb-log-file-size=16M",
                # Accounts are of the address from which TiDB is called.
                "--proxy-protocol-networks=*",
                "--skip-name-resolve",
                "--skip-ssl",
            ]
        )
        self.wait()
        if fresh:
            # As a fresh TiDB: root from everywhere, without a password. The other account is
            # for programs that read TiKV without asking TiDB, as BR does.
            self.sql(
                "DELETE FROM mysql.user WHERE user='';"
                "FLUSH PRIVILEGES;"
                "DROP DATABASE IF EXISTS test;"
                "CREATE USER 'standin'@'%'; GRANT ALL ON *.* TO 'standin'@'%';"
                "CREATE USER 'root'@'%'; GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;"
            )
            self.sql(PROCEDURES)

    def install(self) -> None:
        empty = str(self.base / "empty-data")
        subprocess.run(["sudo", "-n", "cp", "-a", empty, str(self.data)], check=True)
        subprocess.run(["sudo", "-n", "chown", "-R", getpass.getuser(), str(self.data)], check=True)

    def wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(subprocess.CalledProcessError):
                return self.sql("SELECT 1")
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit("MariaDB did not start")
            time.sleep(0.05)

    def sql(self, statement: str) -> None:
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={self.socket}"]
        subprocess.run(client, input=statement, text=True, check=True, capture_output=True)

    def stop(self) -> None:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self.pid_file.read_text()), signal.SIGTERM)
        self.process.wait()

    @property
    def pid_file(self) -> Path:
        return self.data / "mysql.pid"

    def as_root(self, program: Path, option: str) -> list[str]:
        library = f"LD_LIBRARY_PATH={self.base / 'libs'}"
        return ["sudo", "-n", "env", library, str(program), option]


class Routes:
    """What a server answers over HTTP, by its path."""

    def __init__(self, conf: dict[str, Any], identity: str) -> None:
        self.conf, self.identity = conf, identity
        self.since = time.monotonic()

    def answer(self, path: str) -> Any:
        return getattr(self, self.conf["component"])(path)

    def tidb(self, path: str) -> Any:
        conf = self.conf
        return {
            "/status": {
                "connections": 0,
                "version": f"5.7.25-TiDB-{conf['version']}",
                "git_hash": conf["git_hash"],
            },
            "/info": {"is_owner": True, "ddl_id": self.identity, "git_hash": conf["git_hash"]},
            "/config": conf["config"],
        }.get(path)

    def tikv(self, path: str) -> Any:
        return {
            "/config": self.conf["config"],
            "/metrics": self.metrics(),
            "/standin/identity": self.identity,
        }.get(path)

    def metrics(self) -> str:
        """Some of what TiKV counts, as Prometheus' text: nothing has stalled.

        Until v5.0 RocksDB's counters appear 10 s after a start; flow control is there from v5.2 on
        (TiKV by tag: components/engine_rocks, src/storage/metrics.rs, cmd/src/server.rs).
        """
        number = re.match(r"v([0-9]+)\.([0-9]+)", self.conf["version"])
        major, minor = map(int, number.groups()) if number else (9, 0)  # a nightly build
        lines = ["# HELP tikv_raftstore_region_count Regions.", "tikv_raftstore_region_count 30"]
        if major >= 5 or time.monotonic() - self.since > 10:
            lines += [
                "# TYPE tikv_engine_stall_micro_seconds counter",
                'tikv_engine_stall_micro_seconds{db="kv"} 0',
                'tikv_engine_stall_micro_seconds{db="raft"} 0',
                'tikv_engine_write_stall{db="kv",type="write_stall_max"} 0',
            ]
        if (major, minor) >= (5, 2):
            lines += [
                "# TYPE tikv_scheduler_throttle_duration_seconds histogram",
                'tikv_scheduler_throttle_duration_seconds_bucket{le="0.0005"} 0',
                'tikv_scheduler_throttle_duration_seconds_bucket{le="+Inf"} 0',
                "tikv_scheduler_throttle_duration_seconds_sum 0",
                "tikv_scheduler_throttle_duration_seconds_count 0",
                "tikv_scheduler_discard_ratio 0",
            ]
        return "\n".join(lines) + "\n"

    def pd(self, path: str) -> Any:
        conf = self.conf
        if path == "/standin/database":  # by which the stand-in's BR finds the data
            return conf["database"]
        route = {
            "status": lambda: {
                "version": conf["version"],
                "git_hash": conf["git_hash"],
                "start_timestamp": self.identity,
            },
            "version": lambda: {"version": conf["version"]},
            "config": lambda: conf["config"],
            "schedulers": lambda: ["balance-leader-scheduler", "balance-region-scheduler"],
            "health": lambda: [
                {"name": m["name"], "client_urls": [m["url"]], "health": True}
                for m in conf["members"]
            ],
            "members": lambda: {
                "members": [
                    {
                        "name": m["name"],
                        "client_urls": [m["url"]],
                        "binary_version": conf["version"],
                    }
                    for m in conf["members"]
                ]
            },
            "stores": self.stores,
        }.get(path.removeprefix("/pd/api/v1/"))
        return None if route is None else route()

    def stores(self) -> dict[str, Any]:
        stores = []
        for number, (address, status) in enumerate(self.conf["stores"], start=1):
            identity = _get(f"http://{status}/standin/identity")
            stores.append(
                {
                    "store": {
                        "id": number,
                        "address": address,
                        "version": self.conf["tikv_version"].removeprefix("v"),
                        "status_address": status,
                        "git_hash": self.conf["tikv_git_hash"],
                        "start_timestamp": identity,
                        "state_name": "Up" if identity else "Disconnected",
                    },
                    "status": {"leader_count": 10, "region_count": 30},
                }
            )
        return {"count": len(stores), "stores": stores}


def serve_http(port: int, routes: Routes) -> None:
    """Answer in a thread of its own."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            path = self.rfile.readline().decode().split()[1]
            while self.rfile.readline().strip():
                pass  # its headers
            found = routes.answer(path)
            text = found and path == "/metrics"
            body = (found if text else json.dumps(found)).encode()
            status = "404 Not Found" if found is None else "200 OK"
            head = f"HTTP/1.0 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)

    class Server(ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    server = Server(("0.0.0.0", port), Handler)  # noqa: S104 - inside a namespace
    threading.Thread(target=server.serve_forever, daemon=True).start()


def instead(data: bytes) -> bytes:
    """What MariaDB is sent for a packet; a statement of the mariadb client comes in one piece."""
    if data[3:5] == b"\0\x03":
        for statement, call in INSTEAD:
            if asked := statement.fullmatch(data, 5):
                query = b"\x03" + call % asked.groups()
                return len(query).to_bytes(3, "little") + b"\0" + query
    return data


def forward(port: int, backend: str) -> None:
    """Hand every connection on to the backend, for ever, and say from where it comes."""
    host, _, backend_port = backend.rpartition(":")

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(instead(data))
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)  # also ends the other direction

    def connected(client: socket.socket) -> None:
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection((host, int(backend_port))) as onward,
        ):
            for one in (client, onward):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            (there, its_port), (here, own_port) = client.getpeername(), client.getsockname()
            onward.sendall(f"PROXY TCP4 {there} {here} {its_port} {own_port}\r\n".encode())
            back = threading.Thread(target=pump, args=[onward, client], daemon=True)
            back.start()
            pump(client, onward)
            back.join()

    with socket.create_server(("0.0.0.0", port), backlog=1024) as listener:  # noqa: S104 - see above
        while True:
            threading.Thread(target=connected, args=[listener.accept()[0]], daemon=True).start()


def note_start(conf: dict[str, Any], identity: str) -> None:
    """Data change with every start, so that a restore can be seen on every host."""
    data = Path(conf["data_dir"])
    data.mkdir(parents=True, exist_ok=True)
    with (data / "starts").open("a") as file:
        file.write(f"{identity}\n")
    if conf["component"] == "tikv":
        (data / PLACEHOLDER).write_bytes(b"\0" * 1_000_000)


def _get(url: str) -> Any:
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return json.load(answer)
    except OSError:
        return None


def log(level: str, said: str) -> None:
    """A line as PD, TiKV and TiDB write it; the unit sends what is printed to the log."""
    now = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime())
    print(f'[{now}.000 +00:00] [{level}] [standin_server.py:1] ["{said}"]', flush=True)


def main() -> None:
    """Serve until SIGTERM; a server whose settings have ``fatal`` ends with that message."""
    conf = json.loads(Path("conf/standin.json").read_text())
    names = {"pd": "Placement Driver (PD)", "tikv": "TiKV", "tidb": "TiDB."}
    log("INFO", f"Welcome to {names[conf['component']]}")
    if "fatal" in conf:
        log("FATAL", conf["fatal"])
        sys.exit(1)
    identity = os.urandom(16).hex()
    Path("pid").write_text(str(os.getpid()))
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    database = None
    if conf["data_dir"]:
        note_start(conf, identity)
    if conf.get("mariadb"):
        database = Database(conf["mariadb"], Path(conf["data_dir"]))
        database.start()
    if conf["component"] == "tidb":
        place = (conf["port"], conf["backend"])
        threading.Thread(target=forward, args=place, daemon=True).start()
    serve_http(conf["status_port"], Routes(conf, identity))
    log("INFO", "server is ready to serve")
    while not ended.wait(1):
        if database and database.process.poll() is not None:
            sys.exit("MariaDB ended")
    if database:
        database.stop()
    Path("pid").unlink()


if __name__ == "__main__":
    main()
