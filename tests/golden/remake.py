"""Writes the kept store of 1.0.0 anew, with its comparisons and evidence, until 1.0.0 is released:
``python -m tests.golden.remake ["UPDATE campaigns SET ..."]``.

Run it after a change of the schema or of what is stored, with the SQL that changes the rows. Of
what did not change, the archive has the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

STORED = Path(__file__).parent / "stored/1.0.0"
ARCHIVE, SQL = STORED / "store.tar.xz", "results.sql"


def main(statements: list[str]) -> int:
    """Change the store, pack it, and renew what follows from it."""
    with tarfile.open(ARCHIVE) as archive:
        files = {one.name: _content(archive, one) for one in archive if one.isfile()}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(files[SQL].decode())
        for statement in statements:
            database.execute(statement)
        files[SQL] = "\n".join((*database.iterdump(), "")).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)  # with no time and no owner
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    ARCHIVE.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    renewing = ["pytest", "-q", "-p", "no:cacheprovider", "tests/golden/test_stored.py"]
    environment = {**os.environ, "BENCHLAB_UPDATE_GOLDEN": "1"}
    return subprocess.run([sys.executable, "-m", *renewing], env=environment).returncode


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(entry)
    return file.read() if file else b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
