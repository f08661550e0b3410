"""matplotlib, loaded without traces: no window, no file in the home directory, no global style."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_CONFIG = "MPLCONFIGDIR"


@contextlib.contextmanager
def quiet_matplotlib(style: Mapping[Any, Any]) -> Iterator[None]:
    """Within it, matplotlib is loaded and has ``style``.

    matplotlib keeps its list of fonts in the home directory, and warns where it cannot. Here it
    keeps it in a directory for temporary files, unless ``MPLCONFIGDIR`` names another.
    """
    named = os.environ.get(_CONFIG)
    if named is None:
        os.environ[_CONFIG] = str(_cache_directory())
    try:
        import matplotlib
        import matplotlib.font_manager  # reads or writes the list of fonts

        matplotlib.get_configdir()  # both are asked for once and then remembered
        matplotlib.get_cachedir()
    finally:
        if named is None:
            del os.environ[_CONFIG]
    with matplotlib.rc_context():
        matplotlib.rcParams.update(style)
        yield


def _cache_directory() -> Path:
    """A directory that is ours alone: the same one each time, where nobody else has its name."""
    path = Path(tempfile.gettempdir()) / f"benchlab-matplotlib-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        return path
    own = Path(tempfile.mkdtemp(prefix="benchlab-matplotlib-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own
