"""A server that answers under /debug/pprof as TiDB, PD and TiKV do, with what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.builders.profiles import RECORDED

PROTOBUF = "application/protobuf"
BUSY = "Could not enable CPU profiling: cpu profiling already in use\n"


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """TiKV's are below /tikv, and SVG unless the request is of another type."""
        path = self.path.partition("?")[0]
        status, content = 404, b"404 page not found\n"
        if path == "/debug/pprof/profile":
            status, content = 200, (RECORDED / "tidb_cpu.pb.gz").read_bytes()
        elif path == "/tikv/debug/pprof/profile":
            name = "tikv_cpu.pb" if self.headers["Content-Type"] == PROTOBUF else ""
            status, content = 200, (RECORDED / name).read_bytes() if name else b"<svg/>"
        elif path == "/pd/api/v1/debug/pprof/profile":
            status, content = 500, BUSY.encode()
        elif path.endswith("/debug/pprof/heap"):
            status, content = 200, b"of no interest"
        elif path.endswith("/debug/pprof/allocs"):
            status, content = 200, (RECORDED / "pd_allocs.pb.gz").read_bytes()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@contextmanager
def pprof_server() -> Iterator[str]:
    """Its address, without a path, while it runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
