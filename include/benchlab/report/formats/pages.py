"""Where the pages of a report lie, one folder for each language but the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchlab.language import Language, load


@dataclass(frozen=True)
class Link:
    """A page in another language; ``folder`` is its place as seen from the page that refers to it.

    Attributes:
        name: of the language, in that language.
    """

    code: str
    name: str
    folder: str


@dataclass(frozen=True)
class Page:
    """Where a page lies.

    Attributes:
        folder: of the page, from the report's root: nothing of the first language's, else ``zh/``.
        root: the report's root as seen from the page: nothing, or ``../``.
        others: the pages in the other languages.
    """

    folder: str = ""
    root: str = ""
    others: tuple[Link, ...] = ()


TOP = Page()
"""A page that is there in one language."""


def of_languages(codes: Iterable[str]) -> dict[str, Page]:
    """The pages of a report in these languages, by code.

    Raises:
        LanguageError: there is no locale file for one of them.
    """
    languages = [load(code) for code in dict.fromkeys(codes)]
    folders = {each.code: "" if each is languages[0] else f"{each.code}/" for each in languages}
    return {code: _page(code, folders, languages) for code in folders}


def _page(code: str, folders: dict[str, str], languages: Sequence[Language]) -> Page:
    root = "../" if folders[code] else ""
    return Page(
        folder=folders[code],
        root=root,
        others=tuple(
            Link(each.code, _own_name(each), f"{root}{folders[each.code]}")
            for each in languages
            if each.code != code
        ),
    )


def _own_name(language: Language) -> str:
    locale = language.locale
    name = locale.get_language_name(locale)
    return name or language.code
