"""The sentences of reports, by language: one locale file each, in Fluent's syntax.

A sentence is written once per language, in ``locale/<language>.ftl`` under an id, with placeholders
for its values (Project Fluent; https://projectfluent.org/fluent/guide/ describes the syntax).
English is the reference: a test checks that every other file has the same messages with the same
values. A new language is one file, named by its code as Babel knows it.

A sentence that is chosen before its language is known, such as the reason of a verdict, is a
:class:`Message`: an id and values. The store and exceptions hold messages in this form; rendered
text is never parsed.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, TypeAlias, Union

from benchlab.errors import BenchlabError, told

if TYPE_CHECKING:
    import babel
    from fluent.runtime import FluentBundle
    from fluent.runtime.resolver import Message as FluentMessage

REFERENCE = "en"
SUFFIX = ".ftl"

# A message with its attributes: its further lines are indented, or begin with a brace.
_ENTRY = re.compile(r"^([a-z][a-z0-9-]*) =.*?(?=^[a-z#]|\Z)", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"\{ \$([a-z][a-z0-9_]*) \}")
_REFERENCE = re.compile(r"\{ ([a-z][a-z0-9-]*) [}.]")

Value: TypeAlias = Union[str, int, float, "Message"]


class LanguageError(BenchlabError):
    """There is no locale file for a language, or the file lacks a sentence."""


@dataclass(frozen=True)
class Message:
    """A sentence, or a part of one, in no language yet.

    Attributes:
        id: of the message in the locale files.
        values: of its placeholders, by name. A language formats numbers its own way; pass text
            to avoid that.
    """

    id: str
    values: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        """In English, as in logs and JSON."""
        return english().text(self)


Said: TypeAlias = Message | str
"""A sentence in no language yet, or text that is not translated, such as what a server printed."""


def message(id: str, /, **values: Value) -> Message:  # noqa: A002 - Fluent's word
    """A :class:`Message` from its id and values: ``message("number-seconds", seconds=5)``."""
    return Message(id, tuple(values.items()))


def said_by(error: BenchlabError) -> Said:
    """An error's message, to be rendered in any language, if it has just one; else its text."""
    said = error.args[0] if len(error.args) == 1 else None
    return said if isinstance(said, Message) else str(error)


def sayings(error: BaseException) -> tuple[Said, ...]:
    """What an error says to people, line by line; for an unforeseen error only its class.

    Example:
        ``sayings(SpecError("rounds: missing", "threads: missing"))`` has two lines.
    """
    if isinstance(error, KeyboardInterrupt):
        return (message("failure-interrupted"),)
    if isinstance(error, OSError):
        return (told(error), *(arg for arg in error.args if isinstance(arg, Message)))
    if not isinstance(error, BenchlabError):
        return (message("failure-unforeseen", kind=type(error).__name__),)
    lines = [
        line
        for arg in error.args
        for line in ([arg] if isinstance(arg, Message) else str(arg).splitlines())
    ]
    return tuple(lines) or (message("failure-unforeseen", kind=type(error).__name__),)


def side_name(side: str) -> Message:
    """The word for ``baseline`` or ``candidate`` in a sentence."""
    return Message(f"side-{side}")


def joined(said: Sequence[Said]) -> Said:
    """Join one or more independent clauses into one message, which reads ``a; b``."""
    return functools.reduce(lambda first, more: message("clauses", first=first, more=more), said)


class Language:
    """One language: its sentences.

    Args:
        code: such as ``en``; the locale file is ``locale/<code>.ftl``.
        form: a message ``<id>-<form>`` is used instead of ``<id>`` where it exists; empty for none.

    Raises:
        LanguageError: there is no such file.

    Example:
        ``english().say("number-interval", low="-1%", high="2%")`` is ``-1% to 2%``.
    """

    def __init__(self, code: str, form: str = "") -> None:
        if code not in codes():
            raise LanguageError(f"language {code!r}: there is none; known: {', '.join(codes())}")
        self.code, self.form = code, form

    def say(self, id: str, /, **values: Value) -> str:  # noqa: A002
        """Render the message ``id`` with its values.

        Raises:
            LanguageError: the locale file has no such message, or the message needs other values.
        """
        if self.form and self.has(own := f"{id}-{self.form}"):
            id = own  # noqa: A001
        written = {
            name: self.text(value) if isinstance(value, Message) else value
            for name, value in values.items()
        }
        parts = _parts(self._written.get(id, ""))
        filled = [written.get(part) if n % 2 else part for n, part in enumerate(parts)]
        if filled and all(isinstance(part, str) for part in filled):
            return "".join(map(str, filled))
        entry = self._entry(id)
        if entry is None or entry.value is None:
            raise LanguageError(f"locale/{self.code}{SUFFIX}: has no message {id!r}")
        text, errors = self._bundle.format_pattern(entry.value, written)
        if errors:
            raise LanguageError(f"locale/{self.code}{SUFFIX}: message {id!r}: {errors[0]}")
        return str(text)

    def has(self, id: str) -> bool:  # noqa: A002
        """Whether the message exists; a gate, for example, can be added without one."""
        return id in self._written

    def text(self, said: Said) -> str:
        """A message in this language; text unchanged. Raises as :meth:`say`."""
        return said if isinstance(said, str) else self.say(said.id, **dict(said.values))

    def texts(self, said: Iterable[Said]) -> tuple[str, ...]:
        """Several messages or texts; see :meth:`text`."""
        return tuple(map(self.text, said))

    @property
    def name(self) -> str:
        """Its name in the language itself."""
        return self.locale.get_language_name() or self.code

    @functools.cached_property
    def locale(self) -> babel.Locale:
        """Babel's locale of this language."""
        import babel

        return babel.Locale.parse(self.code)

    def _entry(self, id: str) -> FluentMessage | None:  # noqa: A002
        """A message, parsed on first use; None if there is none.

        A command uses few of the thousand messages, and parsing them all takes 0.1 s.
        """
        from fluent.runtime import FluentResource

        if id not in self._written:
            return None
        if not self._bundle.has_message(id):
            for other in _REFERENCE.findall(self._written[id]):
                self._entry(other)
            # Last: another thread assumes that a message present has what it refers to.
            self._bundle.add_resource(FluentResource(self._written[id]))
        return self._bundle.get_message(id)

    @functools.cached_property
    def _written(self) -> dict[str, str]:
        """The text of each message, by id."""
        return {found[1]: found[0] for found in _ENTRY.finditer(self._source)}

    @functools.cached_property
    def _bundle(self) -> FluentBundle:
        from fluent.runtime import FluentBundle, resolver

        # The limit on a value's length guards against hostile locale files. Ours are trusted, and a
        # value may be a server's output of any length.
        resolver.MAX_PART_LENGTH = sys.maxsize
        # Without isolation marks, which would make figures on a page hard to copy.
        return FluentBundle([self.code], use_isolating=False)

    @functools.cached_property
    def _source(self) -> str:
        file = resources.files("benchlab.language").joinpath("locale", f"{self.code}{SUFFIX}")
        return file.read_text(encoding="utf-8")


@functools.cache
def _parts(written: str) -> tuple[str, ...]:
    """Split a message into text and, at odd indices, names of values; empty if it has more.

    Filling these in is ten times as fast as Fluent, and a page has thousands of messages.
    """
    text = written.rstrip().partition(" =")[2]
    parts = _VALUE.split(text.strip())
    is_plain = text and "\n" not in text and not any("{" in part for part in parts[::2])
    return tuple(parts) if is_plain else ()


FORM_OF_ONE = "single"
"""The form of sentences about a campaign of one version (``sides: single``)."""
FORM_OF_WATCH = "watch"
"""The form of sentences about a campaign with ``design: watch``."""


@functools.cache
def load(code: str, form: str = "") -> Language:
    """One language; the same object each time.

    Example:
        ``load("en", FORM_OF_ONE).say("step-load", dataset="...")`` speaks of no side, because
        there is a message ``step-load-single``.

    Raises:
        LanguageError: there is no locale file for it.
    """
    return Language(code, form)


def english() -> Language:
    """The language that logs, terminals and machine-readable files are written in."""
    return load(REFERENCE)


@functools.cache
def codes() -> tuple[str, ...]:
    """Codes of all languages, the reference first: ``("en", "zh")``."""
    folder = resources.files("benchlab.language").joinpath("locale")
    names = [entry.name for entry in folder.iterdir()]
    found = {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}
    return (REFERENCE, *sorted(found - {REFERENCE}))
