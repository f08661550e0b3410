"""The script that installs TiUP, at an https address that the hosts reach."""

from __future__ import annotations

import functools
import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.builders.given_server import certificate

# The real one downloads TiUP's program; the stand-in's is on the hosts already.
SCRIPT = "#!/bin/sh\nset -e\nmkdir -p ~/.tiup/bin\nln -sf /usr/local/bin/tiup ~/.tiup/bin/tiup\n"


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@contextmanager
def script_on(address: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Its address, and the certificate by which its server is known.

    Args:
        address: an address of this machine that the hosts reach.
    """
    (folder / "served").mkdir(parents=True)
    (folder / "served/install.sh").write_text(SCRIPT)
    certificate(folder / "server", address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.cert", folder / "server.key")
    handler = functools.partial(_Handler, directory=str(folder / "served"))
    with http.server.ThreadingHTTPServer((address, 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        authority = (folder / "server.cert").read_text()
        yield f"https://{address}:{server.server_port}/install.sh", authority
        server.shutdown()
