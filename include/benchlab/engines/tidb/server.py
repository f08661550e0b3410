"""TiDB on one machine: one ``tidb-server`` with its embedded storage, unistore.

SQL layer, optimizer and executor are the real ones; the storage is a test store in place of TiKV.
Figures therefore compare the SQL layers of two releases, and the report says so.

A parameter with a dot or a hyphen in its name (``performance.max-procs``, ``token-limit``)
is a configuration item; any other (``tidb_enable_1pc``) is a global variable.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO, cast

from benchlab.engines.database import Profiled, is_version
from benchlab.engines.server import Availability, BaseEngine
from benchlab.engines.tidb import mirror, profiles, rules, statements
from benchlab.engines.tidb.cluster import Cluster
from benchlab.engines.tidb.counts import COUNTS, command
from benchlab.engines.tidb.mirror import Mirror
from benchlab.engines.tidb.statements import TiDBStatements
from benchlab.engines.tidb.tidb import TiDB
from benchlab.engines.tidb.topology import is_config
from benchlab.errors import CommandError, CommandTimeout, SpecError, UnavailableError, meaning_of
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.language import Said, message
from benchlab.plan import versions
from benchlab.plan.fields.builds import Nightly, has_commit, is_nightly
from benchlab.plan.fields.engines import Parameters
from benchlab.results.diagnosis import Kind

DOWNLOAD_LIMIT_S = 1800.0
# Asking TiUP's mirror takes a second or two; without a network TiUP tries for much longer.
ASK_MIRROR_LIMIT_S = 20.0
# From this version on there is `temp-dir`, for index creation; older versions refuse the item.
TEMP_DIR_SINCE = (6, 3, 0)
# In a side's directory.
CONFIG, TEMPORARY = "tidb.toml", "tmp"
# Every Linux program begins with these bytes.
ELF = b"\x7fELF"


class Engine(TiDB, BaseEngine):
    """A TiDB server with embedded storage."""

    cluster = Cluster
    components = ("tidb", "tikv", "pd")
    parameter_faults = staticmethod(rules.faults)
    has_status_port = True
    own_options = ("--store=unistore",)
    reserved = frozenset(
        {
            *("host", "port", "path", "store", "socket", "temp_dir", "tmp_storage_path"),
            *("status.status_host", "status.status_port", "status.report_status"),
        }
    )
    connection_limits = frozenset(
        {"max-server-connections", "instance.max_connections", "max_connections"}
    )
    caveat = "caveat-tidb"
    # Its storage answers no requests and counts nothing.
    counts = tuple(count for count in COUNTS if count.role == "tidb")

    @classmethod
    def owns(cls, version: str) -> bool:
        """TiDB's versions begin with ``v``: ``v6.5.0``, ``v2.1.0-rc.2``."""
        return re.fullmatch(r"v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?", version) is not None

    @classmethod
    def availability(cls, version: str, servers: Path, *, ask: bool = True) -> Availability:
        """Whether it is in ``BENCHLAB_TIDB_HOME`` or installed by TiUP, or TiUP can fetch it.

        If it is not installed, TiUP's mirror is asked, once per process.
        """
        if (program := _program(version)) is not None:
            return Availability(True, f"installed as {program}")
        if not ask and (tiup := _tiup()) is not None:
            return Availability(True, f"would be fetched with TiUP ({tiup})")
        path = f"BENCHLAB_TIDB_HOME/{version}/tidb-server"
        return cls.offered(version) or Availability(
            False, message("engine-without-tiup", version=version, path=path)
        )

    @classmethod
    def offered(cls, version: str) -> Availability | None:
        """Whether TiUP's mirror has it; None without ``tiup`` on this machine."""
        if (tiup := _tiup()) is None:
            return None
        offered = _on_mirror(tiup)
        if isinstance(offered, str):
            why = message("engine-mirror-silent", version=version, why=offered)
            return Availability(False, why)
        if version not in offered:
            return Availability(False, message("engine-not-on-mirror", version=version))
        return Availability(True, f"would be fetched with TiUP ({tiup})")

    @classmethod
    def not_published(cls, version: str, servers: Path) -> Said | None:
        """See :class:`BaseEngine`; TiUP's mirror is asked, once per process."""
        if _program(version) is not None or is_nightly(version) or (tiup := _tiup()) is None:
            return None
        offered = _on_mirror(tiup)
        if isinstance(offered, str):
            raise UnavailableError(offered)
        if version in offered:
            return None
        return message("not-on-tiup", version=version)

    @classmethod
    def published(cls) -> Mirror | None:
        """The versions on TiUP's mirror, with their days; None without ``tiup`` on this machine.

        Raises:
            UnavailableError: TiUP cannot ask its mirror, or prints something else.
        """
        tiup = _tiup()
        return None if tiup is None else mirror.read(_listed(tiup))

    @classmethod
    def install(cls, executor: Executor, version: str, servers: Path) -> None:
        """Have TiUP fetch it, unless there is a binary that runs and reports this version."""
        if (fault := _fault(executor, version)) is None:
            return
        if (tiup := _tiup()) is None:
            raise UnavailableError(f"TiDB {version}: {fault}, and no `tiup` to fetch it")
        try:
            # --force: TiUP takes any directory that is not empty for an installed version,
            # including what an interrupted installation left.
            done = executor.run(
                [tiup, "install", "--force", f"tidb:{version}"], timeout_s=DOWNLOAD_LIMIT_S
            )
        except CommandError as error:
            raise UnavailableError(
                f"TiDB {version}: TiUP cannot install it: either there is no such version "
                "(`tiup list tidb` shows those there are) or its mirror is out of reach.\n"
                f"{error}"
            ) from error
        if (fault := _fault(executor, version)) is not None:
            raise UnavailableError(
                f"TiDB {version}: TiUP reports success, but {fault}; TiUP said: "
                f"{(done.stdout + done.stderr).strip()}"
            )

    @classmethod
    def nightly(cls, *, on_fleet: bool) -> Nightly:
        """See :class:`BaseEngine`; from TiUP's manifests."""
        if (tiup := _tiup()) is None:
            raise UnavailableError(
                f"{versions.NIGHTLY}: this machine has no `tiup` to look it up with; install it "
                "as docs.pingcap.com/tidb/stable/tiup-overview says, or name a kept build "
                "(`benchlab builds`)"
            )
        # A fleet's hosts are x86-64, whatever this machine is.
        arch = "arm64" if not on_fleet and platform.machine() == "aarch64" else "amd64"
        components = cls.components if on_fleet else cls.components[:1]
        return mirror.nightly(tiup, _tiup_home(), components, f"linux/{arch}")

    @classmethod
    def check_build(cls, component: str, source: Path) -> None:
        with _server_in(component, source):
            pass

    @classmethod
    def keep_build(cls, component: str, source: Path, into: Path) -> None:
        program = into / f"{component}-server"
        with _server_in(component, source) as file, program.open("wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)
        program.chmod(0o755)

    @classmethod
    def build_hash(cls, component: str, kept: Path) -> str | None:
        program = str(kept / f"{component}-server")
        try:
            done = LocalExecutor(kept, "build").run([program, "-V"], check=False, timeout_s=20)
        except CommandError:  # of another architecture, or not a program at all
            return None
        match = re.search(r"Git Commit Hash:\s*([0-9a-f]{40})", done.stdout)
        return match[1] if match else None

    def initialise(self) -> None:
        """Write the configuration, and make empty directories for data and temporary files."""
        temporary = self.instance.directory / TEMPORARY
        self.executor.put(self.instance.directory / CONFIG, self._options())
        self.executor.run(["mkdir", "-p", str(self.data), str(temporary)])

    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """The server in the foreground; its log is the job's output."""
        build = self.instance.build
        program = build / "tidb-server" if build else _program(self.instance.version)
        if program is None or not program.exists():
            raise UnavailableError(f"{self._name()}: the binary is gone; run `benchlab install`")
        command = [
            str(program),
            f"--config={self.place / CONFIG}",
            *self.own_options,
            f"--path={self.place / self.data.name}",
            f"--host={self.instance.host}",
            f"-P={self.instance.port}",
            f"--status-host={self.instance.host}",
            f"--status={self.instance.status_port}",
        ]
        # Without this, v6.1 crashes if it was built with a recent Go.
        return command, {"GODEBUG": "tracefpunwindoff=1"}

    def variables(self) -> dict[str, str]:
        """Global variables, and this server's configuration items under their dotted names."""
        items = self.sql("SHOW CONFIG WHERE type = 'tidb'")
        return super().variables() | {row[2]: row[3] for row in items if len(row) >= 4}

    def counter_sources(self) -> Sequence[Source]:
        """See :class:`Database`."""
        return [Source("server", "tidb", command("tidb", f"{self._status}/metrics"))]

    def profile_sources(self, kind: Kind, seconds: int) -> Profiled:
        """See :class:`Database`."""
        ask = profiles.command(kind, "tidb", self._status, seconds)
        return Profiled([Source("server", "tidb", ask)], {})

    @property
    def _status(self) -> str:
        return f"http://{self.instance.host}:{self.instance.status_port}"

    def statements(self) -> TiDBStatements:
        """See :class:`Database`."""
        return TiDBStatements(self, self._status, statements.OF_SERVER)

    def _options(self) -> str:
        options: Parameters = {
            "enable-telemetry": False,
            # No socket, and no file outside the server's own directory.
            "socket": "",
            "tmp-storage-path": str(self.place / TEMPORARY),
            "log.slow-query-file": str(self.place / "slow.log"),
            "log.level": "warn",
            **{k: v for k, v in self.instance.parameters.items() if is_config(k)},
        }
        if versions.parse(self.instance.version).numbers >= TEMP_DIR_SINCE:
            options["temp-dir"] = str(self.place / TEMPORARY)
        return _toml(options)


@contextmanager
def _server_in(component: str, source: Path) -> Iterator[IO[bytes]]:
    """The server in a build's file: the file itself, or one of that name in a tarball.

    Raises:
        SpecError: there is none.
    """
    name = f"{component}-server"
    try:
        with ExitStack() as opened:
            if tarfile.is_tarfile(source):
                tar = opened.enter_context(tarfile.open(source))
                there = [one for one in tar if one.isfile() and Path(one.name).name == name]
                if len(there) != 1:
                    raise SpecError(f"{source}: a tarball with {len(there)} files {name}, not one")
                file = cast(IO[bytes], tar.extractfile(there[0]))
            else:
                file = opened.enter_context(source.open("rb"))
            if file.read(len(ELF)) != ELF:
                raise SpecError(
                    f"{source}: {name} is neither a Linux program nor a tarball with one"
                )
            file.seek(0)
            yield file
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise SpecError(f"{source}: cannot be read: {meaning_of(error)}") from error


def _program(version: str) -> Path | None:
    places = [_tiup_home() / "components" / "tidb" / version / "tidb-server"]
    if home := os.environ.get("BENCHLAB_TIDB_HOME"):
        places.insert(0, Path(home) / version / "tidb-server")
    return next((place for place in places if os.access(place, os.X_OK)), None)


def _fault(executor: Executor, version: str) -> str | None:
    """Why this version's server cannot run; None if it can. Half a binary may have been left."""
    program = _program(version)
    if program is None:
        return f"there is no {_tiup_home() / 'components' / 'tidb' / version / 'tidb-server'}"
    try:
        said = executor.run([str(program), "-V"], check=False).stdout
    except CommandError as error:
        return f"{program} cannot be run: {error}"
    own = re.search(r"Release Version: (.*)\n", said)
    # Between releases a server reports another name than TiUP's.
    by_number = own and (is_nightly(version) or has_commit(version)) and is_version(version, own[1])
    if by_number or f"Release Version: {version}\n" in said:
        return None
    return f"`{program} -V` does not say that it is {version}"


def _tiup() -> str | None:
    """The path of ``tiup``, which its installer puts on the PATH of login shells only."""
    return shutil.which("tiup") or shutil.which("tiup", path=str(_tiup_home() / "bin"))


@cache
def _on_mirror(tiup: str) -> frozenset[str] | str:
    """The versions of TiDB on TiUP's mirror; or, as a text, why it cannot be asked.

    ``tiup list tidb`` asks the mirror, and prints a table with a version first on each line
    (docs.pingcap.com, "tiup list").
    """
    try:
        listed = _listed(tiup)
    except UnavailableError as error:
        return str(error)
    return frozenset(line.split()[0] for line in listed.splitlines() if line.strip())


def _listed(tiup: str) -> str:
    try:
        done = LocalExecutor(Path(), "tiup").run(
            [tiup, "list", "tidb", "--all"], timeout_s=ASK_MIRROR_LIMIT_S
        )
    except CommandTimeout:
        raise UnavailableError(
            f"its mirror did not answer `tiup list tidb` within {ASK_MIRROR_LIMIT_S:.0f} s"
        ) from None
    except CommandError as error:
        last = (error.output.strip().splitlines() or ["without a word"])[-1]
        raise UnavailableError(f"`tiup list tidb` failed: {last}") from error
    return done.stdout


def _tiup_home() -> Path:
    return Path(os.environ.get("TIUP_HOME") or Path.home() / ".tiup")


def _toml(options: Parameters) -> str:
    """Options as TOML, with dotted names as tables: TiDB does not read dotted keys.

    Numbers, texts and switches are written in TOML as in JSON.
    """
    tables: dict[str, list[str]] = {"": []}
    for key, value in options.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {json.dumps(value, ensure_ascii=False)}\n")
    return "".join(
        (f"[{table}]\n" if table else "") + "".join(lines) for table, lines in tables.items()
    )
