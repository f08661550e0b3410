"""The fonts of charts: which of those for a language are on this machine.

A locale file names the families that have its letters in the message ``chart-fonts``, the preferred
one first. If none of them is installed, charts are in English.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.language import Language, english
from benchlab.report.charts.plotting import quiet_matplotlib

if TYPE_CHECKING:
    from matplotlib.font_manager import FontEntry

# It comes with matplotlib, so it is always there. It is used for digits and Latin letters in every
# language, and another font for what it lacks.
BASE = "DejaVu Sans"


def language_of_charts(language: Language) -> Language:
    """The language itself, or English if no installed font has the letters of the language."""
    return english() if lacking(language.letters, families(language)) else language


def families(language: Language) -> list[str]:
    """The font families for a language that are on this machine, as matplotlib takes them."""
    wanted = [name.strip() for name in language.say("chart-fonts").split(",")]
    with quiet_matplotlib({}):
        found = next((name for name in wanted if _entry(name) is not None), BASE)
    return [BASE] if found == BASE else [BASE, found]


def lacking(characters: Iterable[str], names: Iterable[str]) -> set[str]:
    """The characters that no font of these families has; a line break is not drawn."""
    left = {character for character in characters if character != "\n"}
    with quiet_matplotlib({}):
        from matplotlib.font_manager import FontPath, get_font

        for entry in filter(None, map(_entry, names)):
            font = get_font(FontPath(entry.fname, entry.index))
            left = {character for character in left if not font.get_char_index(ord(character))}
    return left


def _entry(name: str) -> FontEntry | None:
    """A font of this family.

    matplotlib remembers the fonts of its first start; some may have gone since, others come.
    """
    from matplotlib import font_manager

    def listed() -> FontEntry | None:
        fonts = font_manager.fontManager.ttflist
        named = (font for font in fonts if font.name == name)
        return next((font for font in named if Path(font.fname).is_file()), None)

    if (found := listed()) is not None:
        return found
    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:
        # A file that cannot be read is not the font that is looked for.
        with contextlib.suppress(OSError, RuntimeError):
            font_manager.fontManager.addfont(path)
    return listed()
