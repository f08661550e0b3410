"""Where the pages of a report are: a folder for each language except the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchlab.language import Language, load


@dataclass(frozen=True)
class Page:
    """Where a page is.

    Attributes:
        folder: relative to the report's root: empty in the first language, else such as ``zh/``.
        root: the report's root relative to the page: empty, or ``../``.
        others: the other languages, each with its page's folder relative to this page.
    """

    folder: str = ""
    root: str = ""
    others: tuple[tuple[Language, str], ...] = ()


TOP = Page()
"""The page of a report in a single language."""


def of_languages(codes: Iterable[str]) -> dict[str, Page]:
    """The pages of a report in these languages, by code.

    Raises:
        LanguageError: there is no locale file for one of them.
    """
    languages = [load(code) for code in dict.fromkeys(codes)]
    folders = dict.fromkeys(languages, "")
    folders |= {language: f"{language.code}/" for language in languages[1:]}
    pages = {}
    for language, folder in folders.items():
        root = "../" if folder else ""
        others = ((o, f"{root}{its}") for o, its in folders.items() if o is not language)
        pages[language.code] = Page(folder, root, tuple(others))
    return pages
