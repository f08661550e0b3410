"""One SSH connection to one host, shared by all threads of a process.

An event loop on its own thread keeps it alive between calls. Airflow forks its tasks, and threads
do not survive a fork, so a child starts a new loop.

Example:
    ``Link(host, "tikv-1", key, Limits()).execute("nproc", b"", 60).stdout``
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import asyncssh

from benchlab.errors import TargetError, UnreachableError, meaning_of
from benchlab.hosts.fleet import FleetHost

# sshd lets in ten sessions per connection (MaxSessions); two are left for probing the link.
SESSIONS = 8
UNANSWERED_KEEPALIVES = 2
OPEN_AGAIN_S = 0.05
PIPE_LIMIT_S = 2.0
INTERRUPT_LIMIT_S = 5.0
# A signal that arrives just as a wait begins is noticed only when the wait ends: waits are short.
SIGNAL_NOTICED_S = 0.5

Result = TypeVar("Result")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
# Keeps the parent's loops alive: collecting one would close descriptors the parent still watches.
_inherited: list[object] = []


def _after_fork() -> None:
    global _guard, _loop
    _inherited.append(_loop)
    _guard, _loop = threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="ssh", daemon=True).start()
        return _loop


def call(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the loop and wait for it; interrupting the wait cancels it."""
    ended = threading.Event()

    async def watched() -> Result:
        try:
            return await work
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(watched(), _running_loop())
    try:
        while not concurrent.futures.wait([future], SIGNAL_NOTICED_S).done:
            pass
        return future.result()
    except BaseException:
        if not future.done():  # Ctrl-C, or a task that is being ended
            future.cancel()
            ended.wait(INTERRUPT_LIMIT_S)
        raise


asyncssh.set_log_level("WARNING")


@dataclass(frozen=True)
class Limits:
    """How long to wait for a host that does not answer, in seconds.

    Attributes:
        connect_s: for a connection, and for each session in it.
        keepalive_s: between keepalive messages; after two without an answer the connection counts
            as lost.
        grace_s: for the host to end a command, after the command's time limit.
    """

    connect_s: float = 15
    keepalive_s: float = 10
    grace_s: float = 10


@dataclass(frozen=True)
class Ended:
    """A remote program that has ended.

    Attributes:
        timed_out: whether its output was still open at its time limit.
        seconds: how long it ran, as seen from here.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    seconds: float


class Link:
    """The connection to one host; opened on first use, and again after it was lost.

    Args:
        host: where to connect to, and the one host key that is accepted.
        name: the host's name in errors.
        key: the text of the private key.
        limits: how long to wait.
    """

    def __init__(self, host: FleetHost, name: str, key: str, limits: Limits) -> None:
        self._host, self._name, self._key, self._limits = host, name, key, limits
        self._connection: asyncssh.SSHClientConnection | None = None
        self._opening = asyncio.Lock()
        self._slots = asyncio.Semaphore(SESSIONS)

    def execute(self, program: str, stdin: bytes, limit_s: float, most: int) -> Ended:
        """Run a POSIX shell program and wait for it.

        The host's process list shows only a fixed command, because the program's text is sent as
        input, ahead of ``stdin``. The program must end by itself after ``limit_s`` seconds, and at
        once on SIGTERM.

        Raises:
            TargetError: the host shows another key than expected.
            UnreachableError: there is no connection, or it was lost.
            TimeoutError: the host answers, but the program did not end.
            BufferError: the program printed more than ``most`` bytes, and was ended.
        """
        return call(self._execute(program.encode(), stdin, limit_s, most))

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        call(self._close())

    async def _execute(self, program: bytes, stdin: bytes, limit_s: float, most: int) -> Ended:
        async with self._slots:
            channel, session = await self._session(len(program), most)
            begin = time.monotonic()
            try:
                channel.write(program + stdin)
                channel.write_eof()
                timed_out = await self._wait(session, limit_s)
            except (asyncio.CancelledError, BufferError):
                with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
                    channel.terminate()
                    await asyncio.wait_for(channel.wait_closed(), PIPE_LIMIT_S)
                raise
            except TimeoutError:  # an OSError, but not the link's
                raise
            except (OSError, asyncssh.Error) as error:
                raise self._lost(error) from error
            finally:
                channel.abort()
        if session.exit_code is None:
            raise self._lost(session.error)
        seconds = time.monotonic() - begin
        return Ended(
            session.exit_code, bytes(session.stdout), bytes(session.stderr), timed_out, seconds
        )

    async def _wait(self, session: _Session, limit_s: float) -> bool:
        """Wait for the exit code, then for the end of the output, which daemons can hold open.

        Returns:
            Whether the output was still open when the time was up.

        Raises:
            BufferError: the program printed too much.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        try:
            async with asyncio.timeout_at(end + self._limits.grace_s):
                await session.exited.wait()
        except TimeoutError:
            await self._probe()
            raise
        try:
            async with asyncio.timeout_at(max(end, loop.time() + PIPE_LIMIT_S)):
                await session.closed.wait()
        except TimeoutError:
            return True
        if session.is_full:
            raise BufferError
        return False

    async def _probe(self) -> None:
        """Check that a host whose program is overdue still answers.

        Raises:
            UnreachableError: it does not; the connection is closed, and the next use opens a new
                one.
        """
        connection = await self._connected()
        channel, session = await self._session(0)
        try:
            async with asyncio.timeout(self._limits.grace_s):
                await session.exited.wait()
        except TimeoutError as error:
            self._abort(connection)
            raise self._lost(error) from error
        finally:
            channel.abort()
        if session.exit_code is None:
            raise self._lost(session.error)

    async def _session(
        self, size: int, most: int = 1 << 20
    ) -> tuple[asyncssh.SSHClientChannel[bytes], _Session]:
        """Start a shell that reads a program of ``size`` bytes, which may print ``most`` bytes."""
        connection = await self._connected()
        deadline = time.monotonic() + self._limits.connect_s
        while True:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    found: Any = await connection.create_session(
                        partial(_Session, most),
                        f"""exec sh -c 'eval "$(head -c {size})"'""",
                        encoding=None,
                    )
                    channel, session = found
                    return channel, session
            except asyncssh.ChannelOpenError as error:
                # sshd still counts a session for a moment after Benchlab saw its end.
                if connection.is_closed():
                    raise self._lost(None) from error
                if time.monotonic() > deadline:
                    raise self._lost(error) from error
                await asyncio.sleep(OPEN_AGAIN_S)
            except (OSError, asyncssh.Error) as error:
                if isinstance(error, TimeoutError):
                    self._abort(connection)
                raise self._lost(error) from error

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._opening:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> asyncssh.SSHClientConnection:
        expected, private = self._keys()
        shown: list[asyncssh.SSHKey] = []

        class Client(asyncssh.SSHClient):
            """Accepts only the expected host key; records every key that the host shows."""

            def validate_host_public_key(
                self, host: str, addr: str, port: int, key: asyncssh.SSHKey
            ) -> bool:
                shown.append(key)
                return key.public_data == expected.public_data

        try:
            async with asyncio.timeout(self._limits.connect_s):
                return await asyncssh.connect(
                    self._host.ssh_address,
                    self._host.ssh_port,
                    username=self._host.user,
                    client_factory=Client,
                    client_keys=[private],
                    # The expected key type first, then all others: a host without a key of that
                    # type should show the one it has, not hang up.
                    known_hosts=([], [], []),
                    server_host_key_algs="^" + b",".join(expected.sig_algorithms).decode(),
                    # Nothing from the account that runs Benchlab: no settings, agent or password.
                    config=[],
                    agent_path=None,
                    preferred_auth="publickey",
                    keepalive_interval=self._limits.keepalive_s,
                    keepalive_count_max=UNANSWERED_KEEPALIVES,
                )
        except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
            raise self._stranger(expected, shown, error) from error
        except asyncssh.PermissionDenied as error:
            raise UnreachableError(
                f"{self._name} does not let {self._host.user} in with the private key it was "
                f"given; the public key belongs in ~{self._host.user}/.ssh/authorized_keys there"
            ) from error
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise UnreachableError(
                f"{self._name} cannot be reached over SSH at {self._host.ssh_address} port "
                f"{self._host.ssh_port}: {self._why(error)}; is it running, and does the network "
                "let port and address through?"
            ) from error

    def _keys(self) -> tuple[asyncssh.SSHKey, asyncssh.SSHKey]:
        """The expected host key, and the private key to log in with.

        Raises:
            TargetError: one of them cannot be read. The text quotes nothing of the private key.
        """
        try:
            expected = asyncssh.import_public_key(self._host.host_key)
        except asyncssh.KeyImportError as error:
            raise TargetError(
                f"{self._name}: {self._host.host_key!r} is not a public host key; `ssh-keyscan "
                "-t ed25519 HOST` shows what one looks like"
            ) from error
        try:
            return expected, asyncssh.import_private_key(self._key)
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
            raise TargetError(
                f"the private SSH key for {self._name} cannot be read ({error}); give a key "
                "without a passphrase, in OpenSSH's or PEM format"
            ) from None

    def _stranger(
        self, expected: asyncssh.SSHKey, shown: list[asyncssh.SSHKey], error: Exception
    ) -> TargetError:
        found = ", ".join(f"{key.get_algorithm()} {key.get_fingerprint()}" for key in shown)
        return TargetError(
            f"{self._name} is not the host it should be: expected the host key "
            f"{expected.get_algorithm()} {expected.get_fingerprint()}, found {found or error}. "
            "If the host was reinstalled, enter its new key; otherwise another machine answers at "
            f"{self._host.ssh_address}"
        )

    def _lost(self, error: Exception | None) -> UnreachableError:
        return UnreachableError(
            f"the SSH connection to {self._name} was lost: {self._why(error)}; what was being run "
            "there ends at its time limit at the latest"
        )

    def _why(self, error: Exception | None) -> str:
        if isinstance(error, OSError) and (error.errno or 0) > 0:
            return meaning_of(error)  # its text is an address, not a reason
        if isinstance(error, TimeoutError):
            return "it does not answer"
        if isinstance(error, asyncssh.ChannelOpenError):
            return f"it lets in no further session ({error}; MaxSessions in its sshd_config)"
        return str(error) if error is not None and str(error) else "it closed the connection"

    def _abort(self, connection: asyncssh.SSHClientConnection) -> None:
        connection.abort()
        if self._connection is connection:
            self._connection = None

    async def _close(self) -> None:
        if connection := self._connection:
            connection.close()
            with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
                await asyncio.wait_for(connection.wait_closed(), PIPE_LIMIT_S)
            self._abort(connection)


class _Session(asyncssh.SSHClientSession[bytes]):
    """Collects a program's output, without ever making the program wait.

    Args:
        most: in bytes; beyond that, output is dropped, and nobody waits for the program any more.
    """

    def __init__(self, most: int) -> None:
        self._most, self.is_full = most, False
        self.stdout, self.stderr = bytearray(), bytearray()
        self.exit_code: int | None = None
        self.error: Exception | None = None
        self.exited, self.closed = asyncio.Event(), asyncio.Event()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if len(self.stdout) + len(self.stderr) + len(data) > self._most:
            self.is_full = True
            self.exited.set()
            self.closed.set()
        else:
            (self.stderr if datatype == asyncssh.EXTENDED_DATA_STDERR else self.stdout).extend(data)

    def exit_status_received(self, status: int) -> None:
        self.exit_code = status
        self.exited.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.exit_code = 128 + _number(signal)
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self.exited.set()
        self.closed.set()


def _number(name: str) -> int:
    """A signal's number from its SSH name (RFC 4254, 6.10): ``KILL`` is 9; SIGKILL if unknown."""
    return getattr(signal, f"SIG{name}", signal.SIGKILL)
