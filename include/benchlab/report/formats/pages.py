"""Where the pages of a report are: a folder for each language except the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchlab.language import Language, load


@dataclass(frozen=True)
class Link:
    """A page in another language.

    Attributes:
        code: of the language.
        name: of the language, in that language.
        folder: of the page, relative to the page that links to it.
    """

    code: str
    name: str
    folder: str


@dataclass(frozen=True)
class Page:
    """Where a page is.

    Attributes:
        folder: relative to the report's root: empty in the first language, else such as ``zh/``.
        root: the report's root relative to the page: empty, or ``../``.
        others: the pages in the other languages.
    """

    folder: str = ""
    root: str = ""
    others: tuple[Link, ...] = ()


TOP = Page()
"""The page of a report in a single language."""


def of_languages(codes: Iterable[str]) -> dict[str, Page]:
    """The pages of a report in these languages, by code.

    Raises:
        LanguageError: there is no locale file for one of them.
    """
    languages = [load(code) for code in dict.fromkeys(codes)]
    folders = {language.code: f"{language.code}/" for language in languages}
    folders[languages[0].code] = ""
    pages = {}
    for code, folder in folders.items():
        root = "../" if folder else ""
        others = [language for language in languages if language.code != code]
        links = (Link(o.code, _own_name(o), f"{root}{folders[o.code]}") for o in others)
        pages[code] = Page(folder, root, tuple(links))
    return pages


def _own_name(language: Language) -> str:
    return language.locale.get_language_name() or language.code
