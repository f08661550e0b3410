"""What all pictures share: their style, how they are saved, and matplotlib without traces.

matplotlib is loaded without a window, without a file in the home directory and without a global
style. The same data give the same bytes::

    with quiet_matplotlib(ENGLISH_STYLE):
        figure = Figure(figsize=(9.6, 4.4))
        titled(figure, "Change of throughput")
        content = saved(figure, "svg")
"""

from __future__ import annotations

import atexit
import contextlib
import io
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchlab.errors import SpecError, meaning_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Form = Literal["svg", "png"]

INK, MUTED, GRID = "#1f2933", "#5f6b76", "#e3e7eb"
# By Okabe and Ito: colour-blind readers can distinguish them, and they differ in lightness.
BLUE, ORANGE = "#0072b2", "#e69f00"
VERDICT_COLOUR = {"regression": "#a5281b", "improvement": "#17693a", "unstable": "#8a5f00"}
STYLE = {
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "benchlab",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}
"""For every picture; :mod:`benchlab.report.charts.fonts` chooses the fonts of a report's."""
# For pictures that are always in English.
ENGLISH_STYLE = {**STYLE, "font.family": "DejaVu Sans", "axes.labelcolor": MUTED}
DPI = 144
_CONFIG = "MPLCONFIGDIR"


@contextlib.contextmanager
def quiet_matplotlib(style: Mapping[Any, Any]) -> Iterator[None]:
    """Load matplotlib, and apply ``style`` inside the context.

    matplotlib keeps its list of fonts in the home directory, and warns if it cannot. Here it keeps
    the list in a temporary directory, unless ``MPLCONFIGDIR`` names another.
    """
    named = os.environ.get(_CONFIG)
    if named is None:
        os.environ[_CONFIG] = str(_cache_directory())
    try:
        import matplotlib
        import matplotlib.font_manager  # reads or writes the list of fonts

        matplotlib.get_configdir()  # both are read once and then remembered
        matplotlib.get_cachedir()
    finally:
        if named is None:
            del os.environ[_CONFIG]
    with matplotlib.rc_context(), _without_words():
        matplotlib.rcParams.update(style)
        yield


@contextlib.contextmanager
def _without_words() -> Iterator[None]:
    """Suppress its warnings about fonts without bold letters: the regular ones can be read."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _cache_directory() -> Path:
    """A directory of our own: the same one each time, unless somebody else took its name."""
    path = Path(tempfile.gettempdir()) / f"benchlab-matplotlib-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        return path
    own = Path(tempfile.mkdtemp(prefix="benchlab-matplotlib-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


@dataclass(frozen=True)
class Panel:
    """A part of a figure, from edge to edge.

    Attributes:
        height_in: with its title and ticks, in inches.
        draw: draws it into a figure, so many inches from the top.
    """

    height_in: float
    draw: Callable[[Figure, float], None]


def axes(figure: Figure, top_in: float, height_in: float, *, left: float, width: float) -> Axes:
    """Axes whose frame begins ``top_in`` inches from the top; ``left``, ``width``: shares."""
    whole = figure.get_figheight()
    return figure.add_axes((left, 1 - (top_in + height_in) / whole, width, height_in / whole))


def titled(figure: Figure, title: str, remark: str = "", *, top_in: float = 0.22) -> None:
    """Write a title at a figure's upper left, and a remark at its upper right."""
    height = 1 - top_in / figure.get_figheight()
    figure.text(0.008, height, title, fontsize=12, fontweight="bold", va="center")
    if remark:
        figure.text(0.992, height, remark, fontsize=8.5, color=MUTED, ha="right", va="center")


def changes_by_row(axes: Axes, names: Sequence[str]) -> None:
    """Prepare axes for changes from left to right, with a row for each name from the top."""
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.axvline(0, color=MUTED, linewidth=1, zorder=1)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def by_threads(axes: Axes, threads: Sequence[int], label: str) -> None:
    """Prepare axes for figures by thread count, each at the same distance."""
    axes.set_xticks(range(len(threads)), [str(count) for count in threads])
    axes.set_xlim(-0.35, max(len(threads), 1) - 0.65)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(label)


def saved(figure: Figure, form: Form) -> bytes:
    """A figure as bytes, without date and tool in its metadata."""
    nothing = ("Date", "Creator") if form == "svg" else ("Software",)
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=DPI, metadata=dict.fromkeys(nothing))
    return out.getvalue()


def write(path: Path, drawn: Callable[[], Figure]) -> None:
    """Save an English figure in the file of the option ``--picture``: SVG or PNG by its ending.

    Raises:
        SpecError: its name ends in neither .svg nor .png, or it cannot be written.
    """
    forms: dict[str, Form] = {".svg": "svg", ".png": "png"}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise SpecError(f"--picture {path}: must end in .svg or .png")
    with quiet_matplotlib(ENGLISH_STYLE):
        picture = saved(drawn(), form)
    try:
        path.write_bytes(picture)
    except OSError as error:
        raise SpecError(f"--picture {path}: cannot be written: {meaning_of(error)}") from error
