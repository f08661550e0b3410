"""Profiles in pprof's format, as Go's servers and TiKV answer with, and folded stacks.

Example:
    ``read(Path("cpu.pb.gz")).stacks[("main.main", "runtime.mallocgc")]`` is ``(3, 30000000)``.

The format is `profile.proto` of github.com/google/pprof: a protobuf message, gzipped or not. Of it
only stacks, their values and their types are needed, and these fields have not changed since 2016,
so that no generated code has to be kept in step with a protobuf library. Folded stacks are lines
such as ``main;work 12``: a stack, the outermost function first, and how often it was seen.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from benchlab.bounded import read_bytes
from benchlab.errors import SpecError

_GZIP = b"\x1f\x8b"
# The largest profiles of TiDB have 2 MB; Go's stacks have 128 frames, beside those inlined.
_MOST_BYTES, _MOST_FRAMES = 16 << 20, 4_000_000
# Of a number of samples; Python reads none of more than 4300.
_MOST_DIGITS = 20
# What Rust adds to the name of a function, anew in each build.
_HASH = re.compile(r"::h[0-9a-f]{16}$")
# TiDB's packages moved into this folder in v7.4, with every name in them.
_MOVED = re.compile(r"(?<=github\.com/pingcap/tidb/)pkg/")

# A file of folded stacks begins with one, and has a stack of several functions.
_FOLDED = re.compile(rb"[^\x00-\x1f]+ \d+\r?\n")

NAMELESS = "[no name,"
"""How the name of a function begins that has none in the profile."""
Stack = tuple[str, ...]
"""The functions of a stack, the outermost first."""


class SampleType(NamedTuple):
    """What a value of a sample is: ``SampleType("cpu", "nanoseconds")``."""

    name: str
    unit: str


@dataclass(frozen=True)
class Profile:
    """A profile: what each stack took.

    Attributes:
        name: of its file.
        types: of the values of a stack, in their order.
        default: the type that pprof would show.
        stacks: values by stack; equal stacks are added up.
        period: how many of the unit ``period_unit`` lie between two samples; 0: not known.
    """

    name: str
    types: tuple[SampleType, ...]
    default: str
    stacks: Mapping[Stack, tuple[int, ...]]
    period: int
    period_unit: str

    def position(self, name: str) -> int:
        """Where a type's value is among those of a stack: ``position("cpu")`` is 1.

        Raises:
            SpecError: it has no such type; names those it has.
        """
        names = [one.name for one in self.types]
        if name not in names:
            raise SpecError(f"{self.name}: has no samples of {name}; it has: {', '.join(names)}")
        return names.index(name)

    def values(self, sample_type: SampleType) -> dict[Stack, int]:
        """What each stack took of one type, without those that took nothing.

        Raises:
            SpecError: there is no such type or nothing of it, or values are negative.
        """
        at = self.position(sample_type.name)
        found = {stack: values[at] for stack, values in self.stacks.items() if values[at]}
        if self.types[at] != sample_type or min(found.values(), default=-1) < 0:
            what = "other units" if found else "no values"
            raise SpecError(
                f"{self.name}: has {what} of {sample_type.name} or negative ones; choose another "
                "type, or compare profiles of one kind"
            )
        return found

    def samples(self, chosen: SampleType) -> float:
        """How many times the profiler looked, or an estimate where its samples were scaled up.

        Args:
            chosen: of the type that is compared: a heap profile has what is in use and what was
                allocated since the start, each as a size and as a number.
        """
        totals = [sum(values) for values in zip(*self.stacks.values(), strict=True)]
        alike = [
            (unit, total)
            for (name, unit), total in zip(self.types, totals, strict=True)
            if name.partition("_")[0] == chosen.name.partition("_")[0]
        ]
        for unit, total in alike or [("", totals[0])]:
            if unit == self.period_unit and self.period > 0:
                return float(total / self.period)
        return float(totals[0])


def _named(function: str) -> str:
    """A function's name as other builds and releases have it."""
    return _MOVED.sub("", _HASH.sub("", function))


class _BrokenError(Exception):
    """The bytes are no profile; the text says why."""


class _Message:
    """A protobuf message: the values of its fields by number (protobuf.dev, "Encoding")."""

    def __init__(self, content: bytes) -> None:
        self._values: dict[int, list[int | bytes]] = {}
        place = 0
        while place < len(content):
            key, place = _varint(content, place)
            kind, value = key & 7, 0
            if kind in (0, 2):
                value, place = _varint(content, place)
            size = {0: 0, 1: 8, 2: value, 5: 4}.get(kind, len(content))
            if place + size > len(content):
                raise _BrokenError("it ends early, or is not in protobuf's format")
            found = content[place : place + size] if kind else value
            self._values.setdefault(key >> 3, []).append(found)
            place += size

    def numbers(self, field: int) -> list[int]:
        """The numbers of a field, packed or one by one; signed."""
        found = list[int]()
        for value in self._values.get(field, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            place = 0
            while place < len(value):
                number, place = _varint(value, place)
                found.append(number)
        return [number - (1 << 64) * (number >> 63) for number in found]

    def number(self, field: int) -> int:
        """A field's number; 0 where it is left out."""
        return (self.numbers(field) or [0])[-1]

    def contents(self, field: int) -> list[bytes]:
        """The texts or messages of a field."""
        return [one for one in self._values.get(field, ()) if isinstance(one, bytes)]

    def messages(self, field: int) -> list[_Message]:
        """The messages of a field."""
        return [*map(_Message, self.contents(field))]


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of one to ten bytes, and the place behind it."""
    number = 0
    for shift, byte in enumerate(content[place : place + 10]):
        number |= (byte & 127) << 7 * shift
        if byte < 128:
            return number & (1 << 64) - 1, place + shift + 1
    raise _BrokenError("it ends early, or is not in protobuf's format")


FOLDED = SampleType("samples", "count")
"""The only type of folded stacks."""


def read(path: Path) -> Profile:
    """Read a profile from a file, gzipped or not.

    Raises:
        SpecError: it cannot be read, is broken, too large, or has no samples; names the file.
    """
    return parse(str(path), read_bytes(path))


def parse(path: str, content: bytes) -> Profile:
    """Read a profile, gzipped or not.

    Args:
        path: of its file, for people.

    Raises:
        SpecError: it is broken, too large, or has no samples; names the file.
    """
    try:
        plain, name = _unzipped(content), Path(path).name
        if not plain:
            raise _BrokenError("it is empty; was the server idle?")
        is_folded = b";" in plain and _FOLDED.match(plain)
        return (_folded if is_folded else _profile)(name, plain)
    except _BrokenError as error:
        raise SpecError(f"{path}: is not a profile in pprof's format: {error}") from error


def together(profiles: Sequence[Profile]) -> Profile:
    """Profiles of several servers, taken at the same time, as one.

    Raises:
        SpecError: they have values of different types.
    """
    first, stacks = profiles[0], dict[Stack, tuple[int, ...]]()
    for one in profiles:
        if one.types != first.types:
            raise SpecError(f"{one.name}: has other types of values than {first.name}")
        for stack, values in one.stacks.items():
            _add(stacks, stack, values)
    return replace(first, stacks=stacks)


def _add(stacks: dict[Stack, tuple[int, ...]], stack: Stack, values: tuple[int, ...]) -> None:
    before = stacks.get(stack)
    stacks[stack] = tuple(map(sum, zip(before, values, strict=True))) if before else values


def _folded(name: str, content: bytes) -> Profile:
    stacks = dict[Stack, tuple[int, ...]]()
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        stack, _, count = line.rpartition(" ")
        if not stack or not count.isdecimal() or len(count) > _MOST_DIGITS:
            raise _BrokenError(f"line {number} of its folded stacks does not end in a number")
        _add(stacks, tuple(stack.split(";")), (int(count),))
    return Profile(name, (FOLDED,), FOLDED.name, stacks, 1, FOLDED.unit)


def _unzipped(content: bytes) -> bytes:
    unzip, zipped = zlib.decompressobj(31), content[:2] == _GZIP
    try:
        found = unzip.decompress(content, _MOST_BYTES + 1) if zipped else content
    except zlib.error as error:
        raise _BrokenError("its gzip data are damaged") from error
    if len(found) > _MOST_BYTES:
        raise _BrokenError(f"it is larger than {_MOST_BYTES >> 20} MB")
    if zipped and not unzip.eof:
        raise _BrokenError("its gzip data end early")
    return found


def _profile(name: str, content: bytes) -> Profile:
    root = _Message(content)
    texts = dict(enumerate(one.decode(errors="replace") for one in root.contents(6)))
    try:
        types = tuple(SampleType(*map(texts.__getitem__, _pair(one))) for one in root.messages(1))
        if not types:
            raise _BrokenError("it says of no value what it is")
        stacks = _stacks(root, texts, len(types))
        units = [texts[one.number(2)] for one in root.messages(11)]
        default = texts[root.number(14)] or types[-1].name
    except KeyError as error:
        raise _BrokenError(f"it refers to {error}, which it lacks") from error
    if not any(map(any, stacks.values())):
        raise _BrokenError("it has no samples; was the server idle?")
    return Profile(name, types, default, stacks, root.number(12), units[-1] if units else "")


def _pair(message: _Message) -> tuple[int, int]:
    return message.number(1), message.number(2)


def _locations(root: _Message, texts: Mapping[int, str]) -> dict[int, Stack]:
    """The functions of each location, the outermost first: several where some are inlined.

    Addresses mean nothing in another build: what has no name is known by its program.
    """
    functions = {
        one.number(1): _named(texts[one.number(2)] or texts[one.number(3)])
        for one in root.messages(5)
    }
    programs = {one.number(1): Path(texts[one.number(5)]).name for one in root.messages(3)}
    found = {}
    for one in root.messages(4):
        nameless = f"{NAMELESS} in {programs.get(one.number(2)) or 'an unknown program'}]"
        names = [functions.get(line.number(1)) or nameless for line in one.messages(4)]
        found[one.number(1)] = tuple(reversed(names or [nameless]))
    return found


def _stacks(root: _Message, texts: Mapping[int, str], count: int) -> dict[Stack, tuple[int, ...]]:
    locations, frames = _locations(root, texts), 0
    stacks: dict[Stack, tuple[int, ...]] = {}
    for content in root.contents(2):
        sample = _Message(content)
        values = sample.numbers(2)
        if len(values) != count:
            raise _BrokenError(f"a sample has {len(values)} values, not {count}")
        # TiKV labels its samples with their threads, whose stacks it may not know.
        labels = [[texts[n] for n in _pair(one)] for one in sample.messages(3)]
        threads = [f"[thread {value}]" for key, value in labels if key == "thread"]
        calls = [locations[place] for place in reversed(sample.numbers(1))]
        frames += sum(map(len, calls))
        if frames > _MOST_FRAMES:
            raise _BrokenError(f"its stacks have more than {_MOST_FRAMES:,} frames")
        stack = (*threads[:1], *itertools.chain(*calls)) or ("[no stack]",)
        _add(stacks, stack, tuple(values))
    return stacks
