"""A server that speaks MySQL's handshake and asks for the password in clear; or answers nonsense.

Packets are as MariaDB's and MySQL's documents have them ("Connection Phase", "Protocol::Handshake
V10", "AuthSwitchRequest", "Text Resultset").
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

# LONG_PASSWORD, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH, no SSL.
CAPABILITIES = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000
NATIVE, CLEAR = b"mysql_native_password\0", b"mysql_clear_password\0"
OK = b"\0\0\0\2\0\0\0"
END = b"\xfe\0\0\2\0"


class HostileServer:
    """Without TLS; lets everybody in once they have sent their password.

    Args:
        rows: the answer to each statement, as rows of texts; endless: what follows never ends.

    Attributes:
        heard: what clients have sent, a packet each.
    """

    def __init__(self, rows: Iterable[Iterable[bytes]] = (), *, asks: bytes = CLEAR) -> None:
        self.heard: list[bytes] = []
        self._rows, self._asks = rows, asks
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError):
            salt = b"12345678" + b"\0" + b"abcdefghijkl\0"
            low, high = (
                CAPABILITIES.to_bytes(4, "little")[:2],
                CAPABILITIES.to_bytes(4, "little")[2:],
            )
            greeting = b"\x0a8.0.11\0\1\0\0\0" + salt[:9] + low + b"\x2d\2\0" + high + b"\x15"
            _send(client, 0, greeting + bytes(10) + salt[9:] + NATIVE)
            number = self._hear(client)
            _send(
                client,
                number + 1,
                b"\xfe" + self._asks + (salt[:8] + salt[9:]) * (self._asks == NATIVE),
            )
            number = self._hear(client)
            _send(client, number + 1, OK)
            while True:
                number = self._hear(client)
                for packet in (b"\1", _column(b"a"), END):
                    number += 1
                    _send(client, number, packet)
                for row in self._rows:
                    number += 1
                    _send(client, number, b"".join(_text(cell) for cell in row))
                _send(client, number + 1, END)

    def _hear(self, client: socket.socket) -> int:
        header = _exactly(client, 4)
        self.heard.append(_exactly(client, int.from_bytes(header[:3], "little")))
        return header[3]

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _column(name: bytes) -> bytes:
    return (
        _text(b"def") + _text(b"") * 3 + _text(name) * 2 + b"\x0c\x2d\0\xff\xff\0\0\xfd\0\0\0\0\0"
    )


def _text(cell: bytes) -> bytes:
    return (
        bytes([len(cell)]) if len(cell) < 251 else b"\xfd" + len(cell).to_bytes(3, "little")
    ) + cell


def _send(client: socket.socket, number: int, packet: bytes) -> None:
    client.sendall(len(packet).to_bytes(3, "little") + bytes([number % 256]) + packet)


def _exactly(client: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        if not (more := client.recv(size - len(found))):
            raise EOFError
        found += more
    return found
