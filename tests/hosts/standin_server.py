#!/usr/bin/python3 -S
"""A server of the stand-in for TiUP: PD, TiKV or TiDB as far as Benchlab sees them from outside.

    python3 standin_server.py NAME   in its deploy directory, with conf/standin.json
    bin/pd-server --config-check --config=... [--pd "" --data-dir ...]

Tests only. On the first TiKV host a real MariaDB keeps the data, inside that TiKV's data
directory; TiDB servers hand connections on to it; the status routes answer over HTTP. It runs
with Debian's python3 and its standard library, for it is copied to hosts that have no more. Every
start of a side starts five of it: what only one of them needs is imported where it is used.
"""

from __future__ import annotations

import contextlib
import getpass
import itertools
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


# Regions of a side's cluster; each of the dataset's tables is one of them.
REGIONS = 30
PD_TOLERANCE = 9  # leaders by which one store has more than the others; PD moves none up to ten
TABLES = (104, 106, 108, 110)
OPERATORS = "/pd/api/v1/operators"


def check_config(conf: dict[str, Any]) -> tuple[str, int]:
    """What a server prints when it checks its configuration, and its exit code, as PD and TiDB
    v8.5.3 and TiKV v9.0.0-beta.2 did (tests/golden/tiup/config_check.txt). Items that begin with
    ``no-such`` are unknown, and ``many`` is no number. TiDB says nothing of unknown ones
    (`InitializeConfig` in its pkg/config/config.go), and TiKV nothing of those of ``raftstore``.
    """
    good, component = "config check successful", conf["component"]
    unknown, many = (
        unknown_items(conf["items"]),
        [k for k, v in conf["items"].items() if v == "many"],
    )
    if component == "pd":
        if many:
            return "toml: cannot load TOML value of type string into a Go integer", 0
        return f"Config contains undefined item: {', '.join(unknown)}" if unknown else good, 0
    if component == "tidb":
        fault = f'["toml: line 2 (last key \\"{many[0]}\\"): incompatible types"]' if many else ""
        return f"[2026/11/26 18:55:41.126 +00:00] [WARN] {fault}\n{good}" if many else good, 0
    threads = conf["items"].get("storage.scheduler-worker-pool-size", 1)
    # `Config::validate` in TiKV's src/storage/config.rs, since v6.0.0.
    most = max(4, os.cpu_count() or 1)
    since = re.match(r"v([0-9]+)", conf["version"])
    if since and int(since[1]) >= 6 and not 1 <= threads <= most:
        return (
            "failed to validate config: invalid configuration: storage.scheduler-worker-pool-size "
            f"should be greater than 0 and less than or equal to {most}"
        ), 1
    if many:
        return (
            "thread 'main' (22287) panicked at cmd/tikv-server/src/main.rs:188:17:\ninvalid auto "
            f'generated configuration file, err invalid type: string "many", for key {many[0]}'
        ), 101
    if named := [key for key in unknown if not key.startswith("raftstore.")]:
        return f"unknown configuration options: {', '.join(named)}", 1
    return good, 0


def unknown_items(items: dict[str, Any]) -> list[str]:
    """The configuration items that no server knows."""
    return [key for key in items if key.rpartition(".")[2].startswith("no-such")]


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
        # Which store leads a region; elected anew at every start, as uneven as PD leaves it.
        stores = range(1, len(conf["stores"]) + 1)
        self.leaders = {
            number: stores[0] if number <= PD_TOLERANCE else stores[number % len(stores)]
            for number in range(1, REGIONS + 1)
        }

    def answer(self, path: str) -> Any:
        return getattr(self, self.conf["component"])(path)

    def post(self, path: str, body: dict[str, Any]) -> tuple[str, Any]:
        """Status and answer of PD's ``/operators``; what it does not take it refuses."""
        if self.conf["component"] != "pd" or path != OPERATORS:
            return "404 Not Found", None
        if (elsewhere := self.of_leader(path)) is not None:
            return "200 OK", _get(elsewhere, body)
        region, store = body.get("region_id", 0), body.get("to_store_id", 0)
        if body.get("name") != "transfer-leader" or region not in self.leaders:
            return "400 Bad Request", "unknown operator or region"
        if store not in range(1, len(self.conf["stores"]) + 1):
            return "500 Internal Server Error", "target leader is not allowed"
        if self.leaders[region] == store:
            return "500 Internal Server Error", "no operator step is built"
        self.leaders[region] = store
        return "200 OK", "The operator is created."

    def of_leader(self, path: str) -> str | None:
        """Where a follower of PD gets its answer: from the first member, while that is there."""
        first = self.conf["members"][0]["url"]
        own = first == f"http://{self.conf['host']}:{self.conf['port']}"
        return None if own or not _get(f"{first}/pd/api/v1/version") else f"{first}{path}"

    def tidb(self, path: str) -> Any:
        conf = self.conf
        if path.startswith("/schema/"):
            return [
                {"id": table, "name": {"O": f"sbtest{n}", "L": f"sbtest{n}"}, "partition": None}
                for n, table in enumerate(TABLES, start=1)
            ]
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

        Until v5.0 RocksDB's counters appear 10 s after a start; flow control is there from v5.2 on,
        and from v6.2 on counters that are 0 are left out (TiKV by tag: components/engine_rocks,
        src/storage/metrics.rs, cmd/src/server.rs, components/tikv_util/src/metrics/mod.rs).
        """
        number = re.match(r"v([0-9]+)\.([0-9]+)", self.conf["version"])
        major, minor = map(int, number.groups()) if number else (9, 0)  # a nightly build
        lines = ["# TYPE tikv_server_info gauge", 'tikv_server_info{hash="",version=""} 1795711943']
        if (5, 0) <= (major, minor) < (6, 2) or (major < 5 and time.monotonic() - self.since > 10):
            lines += [
                "# TYPE tikv_engine_stall_micro_seconds counter",
                'tikv_engine_stall_micro_seconds{db="kv"} 0',
                'tikv_engine_stall_micro_seconds{db="raft"} 0',
                'tikv_engine_write_stall{db="kv",type="write_stall_max"} 0',
            ]
        if (major, minor) >= (5, 2):
            lines.append("tikv_scheduler_discard_ratio 0")
        if (5, 2) <= (major, minor) < (6, 2):
            lines += [
                "# TYPE tikv_scheduler_throttle_duration_seconds histogram",
                'tikv_scheduler_throttle_duration_seconds_bucket{le="0.0005"} 0',
                'tikv_scheduler_throttle_duration_seconds_bucket{le="+Inf"} 0',
                "tikv_scheduler_throttle_duration_seconds_sum 0",
                "tikv_scheduler_throttle_duration_seconds_count 0",
            ]
        return "\n".join(lines) + "\n"

    def pd(self, path: str) -> Any:
        conf = self.conf
        if path == "/standin/database":  # by which the stand-in's BR finds the data
            return conf["database"]
        asked = path.removeprefix("/pd/api/v1/")
        by_leader = ("stores", "regions", "operators", "stats/region")
        if asked in by_leader and (leader := self.of_leader(path)) is not None:
            return _get(leader)
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
            "regions": self.regions,
            "operators": list,
            "stats/region": lambda: {"count": REGIONS},
            **{f"regions/check/{kind}-peer": _no_regions for kind in ("miss", "pending", "down")},
        }.get(asked)
        return None if route is None else route()

    def led(self) -> dict[int, int]:
        """Right after a start PD knows the leader of one region only."""
        known = REGIONS if time.monotonic() - self.since > 0.5 else 1
        return {number: store for number, store in self.leaders.items() if number <= known}

    def regions(self) -> dict[str, Any]:
        """Three tables of one to many regions among others; what is empty is left out."""
        led, stores = self.led(), range(1, len(self.conf["stores"]) + 1)
        keys = [f"7A{number:02X}" for number in range(REGIONS - len(TABLES))]
        keys = ["", *(_key_of(table) for table in TABLES), *keys[1:], ""]
        found = []
        for number, (begin, end) in enumerate(itertools.pairwise(keys), start=1):
            peers = [{"id": 100 * number + s, "store_id": s, "role_name": "Voter"} for s in stores]
            about = {"id": number, "start_key": begin, "end_key": end, "peers": peers}
            leader = {"leader": peers[led[number] - 1]} if number in led else {}
            found.append(about | leader)
        return {"count": len(found), "regions": found}

    def stores(self) -> dict[str, Any]:
        led = self.led()
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
                    "status": {
                        "leader_count": sum(store == number for store in led.values()),
                        "region_count": REGIONS,
                    },
                }
            )
        return {"count": len(stores), "stores": stores}


def serve_http(port: int, routes: Routes) -> None:
    """Answer in a thread of its own."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            method, path, _ = self.rfile.readline().decode().split()
            length = 0
            while header := self.rfile.readline().strip().lower():
                if header.startswith(b"content-length:"):
                    length = int(header.partition(b":")[2])
            if method == "POST":
                status, found = routes.post(path, json.loads(self.rfile.read(length)))
            else:
                found = routes.answer(path)
                status = "404 Not Found" if found is None else "200 OK"
            text = found and path == "/metrics"
            body = (found if text else json.dumps(found)).encode()
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


def forward(port: int, backend: str, pause_s: float) -> None:
    """Hand every connection on to the backend, for ever, and say from where it comes.

    What a client sends waits for ``pause_s``, as in a TiDB that is slow.
    """
    host, _, backend_port = backend.rpartition(":")

    def pump(source: socket.socket, sink: socket.socket, wait_s: float = 0.0) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if wait_s:
                    time.sleep(wait_s)
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
            pump(client, onward, pause_s)
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
        locks = Path(f"/tmp/{os.getuid()}_TIKV_LOCK_FILES")
        locks.mkdir(exist_ok=True)
        (locks / f"0.0.0.0_{conf['port']}").touch()


def _get(url: str, body: dict[str, Any] | None = None) -> Any:
    import urllib.request

    sent = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data=sent, timeout=2) as answer:
            return json.load(answer)
    except OSError:
        return None


def _key_of(table: int) -> str:
    """A table's key as PD writes it: coded in groups of eight bytes, each with its length."""
    plain = b"t" + (table + 2**63).to_bytes(8)
    return (plain[:8] + b"\xff" + plain[8:].ljust(8, b"\0") + b"\xf8").hex().upper()


def _no_regions() -> dict[str, Any]:
    return {"count": 0, "regions": []}


def make_temporary(conf: dict[str, Any]) -> None:
    """What a TiDB server makes in ``/tmp``, or where its configuration says."""
    for item in ("tmp-storage-path", "socket", "temp-dir"):
        if made := conf["config"].get(item):
            Path(made.replace("{Port}", str(conf["port"]))).mkdir(parents=True, exist_ok=True)


def log(level: str, said: str) -> None:
    """A line as PD, TiKV and TiDB write it; the unit sends what is printed to the log."""
    now = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime())
    print(f'[{now}.000 +00:00] [{level}] [standin_server.py:1] ["{said}"]', flush=True)


def main() -> None:
    """Serve until SIGTERM; or check the configuration.

    A server whose settings have ``fatal`` ends with that message.
    """
    if "--help" in sys.argv:
        return print("  -config-check\n    \tcheck config file validity and exit")
    if "--config-check" in sys.argv:
        conf = json.loads((Path(__file__).parents[1] / "conf/standin.json").read_text())
        said, exit_code = check_config(conf)
        print(said)
        sys.exit(exit_code)
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
        make_temporary(conf)
        place = (conf["port"], conf["backend"], conf["pause_ms"] / 1000)
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
