"""Parses the files of a bundle as documents, and compares two documents.

Validation stops at the first fault of a list or mapping. Otherwise a hostile file could exhaust
memory: pydantic keeps about a kilobyte per fault, and three bytes of text can have ten faults.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import pydantic
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from benchlab.errors import EvidenceError
from benchlab.plan.documents import worded
from benchlab.report.formats import csv_text

# Relative tolerance of recomputed figures: processors and libraries round differently.
RELATIVE = 1e-9
ABSENT = object()
"""Stands for a value that one of two documents lacks."""
# All unknown keys of a mapping are noted; above this number they are only counted.
_MOST_FAULTS = 1000
_COLLECTIONS = ("list", "tuple", "dict", "set", "frozenset")
# The first of these keys that an item of a list has names it.
_NAMES = ("name", "metric", "gate", "host", "threads")


class FaultyFileError(EvidenceError):
    """A ``file`` of a bundle cannot be read or is invalid, because of ``fault``."""

    def __init__(self, file: str, fault: str) -> None:
        super().__init__(f"{file}: {fault}")
        self.file, self.fault = file, fault


def text_of(name: str, content: bytes) -> str:
    """Decode a file; raises :class:`FaultyFileError` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FaultyFileError(name, f"not a text in UTF-8 (byte {error.start + 1})") from error


def parsed(name: str, content: bytes) -> Any:
    """Parse a file as JSON.

    Raises:
        FaultyFileError: it is not JSON, or an object has a key twice: readers may use either.
    """
    text = text_of(name, content)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FaultyFileError(name, f"no JSON: {error}") from error


def validated(name: str, kind: Any, content: bytes) -> Any:
    """Parse a file as JSON into an instance of the type ``kind``.

    Raises:
        FaultyFileError: it is invalid; the text names the first wrong field, without its value.
    """
    try:
        return _validator(kind).validate_python(parsed(name, content))
    except pydantic.ValidationError as error:
        fault = f"{error.error_count()} fields are wrong or unknown"
        if error.error_count() <= _MOST_FAULTS:
            first = error.errors(include_input=False, include_url=False)[0]
            fault = f"{'.'.join(map(str, first['loc']))[:200]}: {worded(first)}"
        raise FaultyFileError(name, fault) from error
    except RecursionError as error:
        raise FaultyFileError(name, "nested too deeply") from error


def dumped(kind: Any, value: object) -> Any:
    """An instance of the type ``kind`` as JSON values."""
    return _adapter(kind).dump_python(value, mode="json", by_alias=True)


def read(name: str, content: bytes) -> Any:
    """Parse a file of a report by its name: ``.json``, ``.csv`` (rows by number), else text.

    Raises:
        FaultyFileError: its contents do not match its name.
    """
    if name.endswith(".json"):
        return parsed(name, content)
    if not name.endswith(".csv"):
        return text_of(name, content)
    try:
        return {f"row {number}": row for number, row in enumerate(csv_text.read(content), 2)}
    except (ValueError, csv.Error) as error:
        raise FaultyFileError(name, f"no CSV table: {error}") from error


def differences(found: Any, again: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two documents differ, and each one's value there, perhaps :data:`ABSENT`.

    Texts of several lines are compared up to the first different line, as later ones may only have
    shifted. Numbers are compared with the tolerance :data:`RELATIVE` if one is a float.

    >>> list(differences({"a": [1, 2.0], "b": 0}, {"a": [1, 2.5], "b": 1e-300 * 1e-300}))
    [('a[1]', 2.0, 2.5)]
    """
    if isinstance(found, dict) and isinstance(again, dict):
        for key in dict.fromkeys((*again, *found)):
            place = f"{where}.{key}".removeprefix(".")
            yield from differences(found.get(key, ABSENT), again.get(key, ABSENT), place)
    elif isinstance(found, list) and isinstance(again, list) and len(found) == len(again):
        for number, (one, other) in enumerate(zip(found, again, strict=True)):
            named = other if isinstance(other, dict) else {}
            name = next((named[key] for key in _NAMES if key in named), number)
            yield from differences(one, other, f"{where}[{name}]")
    elif isinstance(found, str) and isinstance(again, str) and "\n" in found and found != again:
        lines = zip_longest(found.split("\n"), again.split("\n"), fillvalue=ABSENT)
        number, pair = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
        yield f"{where} line {number}".lstrip(), *pair
    elif not _same(found, again):
        yield where, found, again


def _same(one: Any, other: Any) -> bool:
    kinds = {type(one), type(other)}
    if float in kinds and kinds <= {float, int}:
        return math.isclose(one, other, rel_tol=RELATIVE)
    return len(kinds) == 1 and bool(one == other)


def written(value: Any, other: Any) -> str:
    """A value for people; a long one is cut to the part where it differs from the other.

    >>> written(1.5, None), written(ABSENT, 2), written(2, ABSENT)
    ('1.5', 'not there', 'there')
    """
    if value is ABSENT or other is ABSENT:
        return "not there" if value is ABSENT else "there"
    texts = [v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in (value, other)]
    common = len(os.path.commonprefix(texts))  # noqa: RUF071 - of letters
    start, end = max(common - 40, 0), common + 60
    part = texts[0][start:end]
    return f"{'…' if start else ''}{part}{'…' if end < len(texts[0]) else ''}" or "empty"


@cache  # built when first needed, because that is slow
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_ending_early(_adapter(kind).core_schema))


def _ending_early(schema: Any) -> Any:
    """A pydantic-core schema that stops each collection at its first fault (``fail_fast``)."""
    if isinstance(schema, dict):
        made = {key: _ending_early(value) for key, value in schema.items()}
        return {**made, "fail_fast": True} if made.get("type") in _COLLECTIONS else made
    return [_ending_early(each) for each in schema] if isinstance(schema, list) else schema


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
