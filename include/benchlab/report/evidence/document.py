"""JSON of a bundle, read so that a hostile text takes no more memory than an honest one of its
size.

Pydantic notes every fault of a document, with a kilobyte for each, and a text of three bytes can
have ten. Here a list or a mapping ends at its first fault.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import pydantic
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from benchlab.plan.documents import worded
from benchlab.report.evidence.archive import FaultyFileError

# Unknown keys of one mapping are all noted; from here on they are counted only.
_MOST_FAULTS = 1000
_COLLECTIONS = ("list", "tuple", "dict", "set", "frozenset")


def parsed(name: str, content: bytes) -> Any:
    """A file as JSON.

    Raises:
        FaultyFileError: it is none, or an object has a key twice, of which readers take either.
    """
    try:
        text = content.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FaultyFileError(name, f"no JSON: {error}") from error


def validated(name: str, kind: Any, raw: Any) -> Any:
    """What :func:`parsed` has read, as an instance of a type.

    Raises:
        FaultyFileError: it is none; has the first field that is wrong, without its value.
    """
    try:
        return _validator(kind).validate_python(raw)
    except pydantic.ValidationError as error:
        raise FaultyFileError(name, _first_fault(error)) from error
    except RecursionError as error:
        raise FaultyFileError(name, f"nested too deeply: {error}") from error


def _first_fault(error: pydantic.ValidationError) -> str:
    if (count := error.error_count()) > _MOST_FAULTS:
        return f"{count} fields are wrong or unknown"
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:200]}: {worded(first)}"


@cache  # made where it is first needed, because that takes a while
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_ending_early(TypeAdapter(kind).core_schema))


def _ending_early(schema: Any) -> Any:
    """A schema of pydantic-core whose collections end at their first fault."""
    if isinstance(schema, dict):
        made = {key: _ending_early(value) for key, value in schema.items()}
        return {**made, "fail_fast": True} if made.get("type") in _COLLECTIONS else made
    return [_ending_early(each) for each in schema] if isinstance(schema, list) else schema


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is there twice")
    return made


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
