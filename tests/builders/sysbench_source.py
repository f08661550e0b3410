"""The source of a small sysbench, as an archive."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Any

from benchlab.plan.fields.client import Client

NEEDED = {"make", "flock"}
"""Of the programs that sysbench's source needs those that this one needs as well."""
# What `make` makes refuses as sysbench does, for it is the one of the package, by another name.
MAKEFILE = """
all:
\tprintf '#!/bin/sh\\n[ "$$1" = --version ] || exec sysbench "$$@"\\necho sysbench 1.1.0%s\\n' \\
\t\t"$(SHA)" > sysbench && chmod 755 sysbench
install:
\tmkdir -p $(DESTDIR)$(PREFIX)/bin && cp sysbench $(DESTDIR)$(PREFIX)/bin
"""
CONFIGURE = """#!/bin/sh
set -e
sha=$(git rev-parse --short HEAD 2> /dev/null) && sha=-$sha
{ echo "PREFIX = ${1#--prefix=}"; echo "SHA = $sha"; cat Makefile.in; } > Makefile
"""

AUTOGEN = f"#!/bin/sh\ncat > configure <<'END'\n{CONFIGURE}END\nchmod 755 configure\n"


def source(folder: Path, **files: str | None) -> Path:
    """The source of a small sysbench, in a directory of its own."""
    made = folder / "sysbench"
    made.mkdir()
    of_all = {"configure.ac": "", "autogen.sh": AUTOGEN, "Makefile.in": MAKEFILE}
    for name, text in {**of_all, **files}.items():
        if text is not None:
            (made / name).write_text(text)
            (made / name).chmod(0o755)
    return made


def archived(made: Path) -> Path:
    """The archive of a source."""
    archive = made.with_suffix(".tar.gz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(made, made.name)
    return archive


def client(archive: Path, **fields: Any) -> Client:
    """The client of a report type that names the archive."""
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    return Client(**{"archive": str(archive), "sha256": sha256, "version": "1.1.0", **fields})
