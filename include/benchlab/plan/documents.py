"""Files that people write: YAML, read as frozen data with all faults named at once, and CSV."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
from collections.abc import Hashable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import ErrorDetails

from benchlab.bounded import read_bytes
from benchlab.errors import SpecError, meaning_of
from benchlab.language import Said, message

try:
    from yaml import CSafeLoader as _QuickBase
except ImportError:
    from yaml import SafeLoader as _QuickBase  # type: ignore[assignment]

Model = TypeVar("Model", bound=BaseModel)
Row = Mapping[str, str]
# Engines, workloads, targets and publishers are found by presence: whether one of this name exists
# is not known here.
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
# One line.
Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
# As Airflow names Connections, and the environment variables that define them.
ConnectionName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,199}$")]
# Pydantic's tags for what may be a word or a mapping of fields; no field has such a name.
WORD, MAPPING = "(word)", "(mapping)"
WORD_OR_MAPPING = Discriminator(lambda raw: WORD if isinstance(raw, str) else MAPPING)
# All but the first are what PyYAML raises for values that do not fit their tag: a 45th of a month,
# `!!int x`.
YAML_FAULTS = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError)
# libyaml has no limit on nesting: text with more brackets is read in Python.
_MOST_BRACKETS = 1000
# Python prints no number of more than 4300 digits, not even in the message that refuses it.
_MOST_BITS = 1024

# Messages for people who write YAML, by pydantic's type of fault.
_NUMBER, _WHOLE, _TRUTH = "must be a number", "must be a whole number", "must be true or false"
_LIST, _FIELDS, _TEXT = "must be a list", "must be a mapping of fields to values", "must be text"
_DAY = "must be a day, written as YYYY-MM-DD"
_FAULTS = {
    "extra_forbidden": "unknown key; is it misspelt? docs/guide/report-types.md lists the fields",
    "missing": "missing; it must be set",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "finite_number": "must be a finite number",
    "too_short": "needs at least {min_length}, has {actual_length}",
    "too_long": "may have at most {max_length}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "may have at most {max_length} characters",
    "string_pattern_mismatch": "does not match the pattern {pattern}",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "must be one of the kinds {expected_tags}",
    "union_tag_not_found": "must name its kind in {discriminator}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing"), _NUMBER),
    **dict.fromkeys(("bool_type", "bool_parsing"), _TRUTH),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), _LIST),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type", "dataclass_type"), _FIELDS
    ),
    **dict.fromkeys(("string_type", "string_sub_type"), _TEXT),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), _DAY),
}


def one_of(words: str) -> WrapValidator:
    """A validator for a value of several types: one sentence replaces pydantic's one for each."""

    def read(found: Any, as_any: ValidatorFunctionWrapHandler) -> Any:
        try:
            return as_any(found)
        except ValidationError:
            raise ValueError(words) from None

    return WrapValidator(read)


# Written to option files and command lines: one line each, and finite numbers.
ONE_VALUE = "must be text on one line, a finite number, true or false"
Scalar = Annotated[Text | int | FiniteFloat | bool, one_of(f"{ONE_VALUE}, and no list or mapping")]


class Frozen(BaseModel):
    """Base of data from a file that a person wrote; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def is_utf16(content: bytes) -> bool:
    """Whether content begins with UTF-16's byte order mark, as PowerShell and Excel write it."""
    return content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def write_text(path: Path, text: str) -> None:
    """Write a file of text, as a whole or not at all.

    Raises:
        SpecError: it cannot be written; names the file.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise SpecError(
            f"{path}: cannot be written: {meaning_of(error)}; give this account write permission "
            "for the file and its folder, or run the command as an account that has it"
        ) from error


def from_yaml(text: str, where: str) -> Any:
    """The content of YAML text; None where it is empty.

    Example:
        ``from_yaml("rounds: 2", "a.yaml")`` is ``{"rounds": 2}``.

    Every YAML file is read here, so that any fault is reported as an error of that file.

    Raises:
        SpecError: it is not YAML, a mapping has a key twice, a value does not fit its tag, or it is
            nested too deeply; begins with ``where`` and has the line, where that is known.
    """
    try:
        return _parsed(text)
    except YAML_FAULTS as error:
        raise SpecError(f"{where}: not YAML: {error}") from error
    except RecursionError as error:
        raise SpecError(
            f"{where}: not YAML: nested too deeply to be read; is a bracket left open?"
        ) from error


def _parsed(text: str) -> Any:
    # libyaml crashes the process on deep nesting, and reads tabs and bare tags differently.
    if not {"\t", "!"} & set(text) and sum(map(text.count, "[{-?")) < _MOST_BRACKETS:
        with contextlib.suppress(*YAML_FAULTS, RecursionError):
            return yaml.load(text, Loader=_QuickLoader)  # noqa: S506 - a SafeLoader
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader


def validated(model: type[Model], raw: object, where: str) -> Model:
    """Validate a document as an instance of its model.

    Raises:
        SpecError: it does not validate; one line per fault, each beginning with ``where`` and the
            field.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise SpecError(*(at(where, fault) for fault in faults(error))) from error


def at(where: str, fault: Said) -> Said:
    """A fault that begins with its place: ``rounds: must be at least 1``.

    Unchanged where ``where`` is empty.
    """
    if not where:
        return fault
    return f"{where}: {fault}" if isinstance(fault, str) else message("at", where=where, what=fault)


def faults(error: Exception, within: tuple[str | int, ...] = ()) -> list[Said]:
    """What is wrong, as sentences that each begin with the field.

    Args:
        error: from a document's model, or from the model of a part of it; any other error is one
            sentence without a field.
        within: the path of that part.
    """
    if not isinstance(error, ValidationError):
        return [meaning_of(error)]
    sentences = list[Said]()
    items = error.errors(include_url=False)
    for item in items:
        if item["type"] == "too_short" and any(
            len(other["loc"]) > len(item["loc"]) and other["loc"][: len(item["loc"])] == item["loc"]
            for other in items
        ):
            continue  # the list is short only because its items were refused
        names = (str(name) for name in (*within, *item["loc"]) if name not in (WORD, MAPPING))
        field = ".".join(name if name.isprintable() else repr(name) for name in names)
        shown = item["type"] not in ("extra_forbidden", "missing")
        if not shown or not field or isinstance(item["input"], dict | list):
            sentences.append(at(field, worded(item)))
        elif item["type"] == "less_than_equal":
            most, found = str(item["ctx"]["le"]), repr(item["input"])
            sentences.append(message("fault-at-most", field=field, most=most, found=found))
        else:
            sentences.append(f"{field}: {worded(item)}, found {as_written(item['input'])}")
    return sentences


def as_written(value: object) -> str:
    """A value as a message shows it: text in quotes, a day as in YAML."""
    return str(value) if isinstance(value, date) else repr(value)


def worded(fault: ErrorDetails) -> Said:
    """What is wrong with one field, without its name and value: ``must be at least 1``."""
    if (words := _FAULTS.get(fault["type"])) is not None:
        return words.format(**fault.get("ctx", {}))
    own = fault.get("ctx", {}).get("error")
    return own.args[0] if isinstance(own, ValueError) else fault["msg"]


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A document's values by path: ``{"client": {"path": "x"}}`` is ``{"client.path": "x"}``."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        found |= (
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return found


def read_csv(path: Path) -> str:
    """The text of a CSV file, for :func:`csv_rows`.

    Raises:
        SpecError: it cannot be read.
    """
    try:
        # A spreadsheet may begin a file with a byte order mark.
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: cannot be read: {meaning_of(error)}") from error


def csv_rows(path: Path, text: str) -> tuple[tuple[str, ...], list[tuple[int, Row]]]:
    """The columns of a CSV file's text, and its rows with their line numbers.

    Raises:
        SpecError: it is not CSV, or a row has too many cells; names the file, and the line of the
            row.
    """
    try:
        lines = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = tuple(lines.fieldnames or ())
        rows: list[tuple[int, Row]] = []
        for row in lines:
            if None in row:
                raise SpecError(
                    f"{path}: line {lines.line_num}: has more than {len(columns)} columns"
                )
            # Line breaks stay; they are refused where the cell is read.
            cells = {column: (cell or "").strip(" \t") for column, cell in row.items()}
            rows.append((lines.line_num, cells))
    except csv.Error as error:
        raise SpecError(f"{path}: cannot be read: {meaning_of(error)}") from error
    return columns, rows


class _Strict(yaml.constructor.SafeConstructor):
    """Names the line of every fault; refuses repeated keys, where PyYAML takes the last."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            found = super().construct_object(node, deep=deep)
            if isinstance(found, int) and found.bit_length() > _MOST_BITS:
                raise ValueError("so large that it cannot be printed")
            return found
        except yaml.YAMLError:
            raise
        except YAML_FAULTS as error:
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"a value that is no {node.tag.rpartition(':')[2]} ({error}); put it in quotes "
                "if it is text",
                node.start_mark,
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    None, None, "a list or a mapping cannot be a key", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} occurs twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


class _Loader(_Strict, yaml.SafeLoader):
    """The strict loader in Python."""


class _QuickLoader(_Strict, _QuickBase):
    """The same in C, where PyYAML was built with it: some ten times as fast."""
