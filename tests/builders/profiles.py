"""Profiles for tests: recorded ones, and made ones as pprof's bytes or as stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchlab.results.pprof import Profile, SampleType, Stack

RECORDED = Path(__file__).parents[1] / "golden" / "pprof"


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protobuf message of these fields."""
    made = b""
    for field, value in fields:
        if isinstance(value, int):
            made += varint(field << 3) + varint(value)
        else:
            made += varint(field << 3 | 2) + varint(len(value)) + value
    return made


def profile_bytes(
    samples: Mapping[tuple[int, ...], int], locations: Sequence[Sequence[str]]
) -> bytes:
    """A profile of one type, ``cpu``.

    Args:
        samples: values by locations, the innermost first, numbered from 1.
        locations: their functions, the innermost first; none: an address only.
    """
    texts = ["", "cpu", "nanoseconds", "/usr/bin/tidb-server"]
    fields: list[tuple[int, int | bytes]] = [(1, message((1, 1), (2, 2)))]
    for places, value in samples.items():
        packed = b"".join(map(varint, places))
        fields.append((2, message((1, packed), (2, value))))
    fields.append((3, message((1, 1), (5, 3))))
    for number, names in enumerate(locations, 1):
        lines = []
        for name in names:
            if name not in texts:
                texts.append(name)
                place = texts.index(name)
                fields.append((5, message((1, place), (2, place))))
            lines.append((4, message((1, texts.index(name)))))
        fields.append((4, message((1, number), (2, 1), *lines)))
    fields += [(6, text.encode()) for text in texts]
    return message(*fields, (11, message((1, 1), (2, 2))), (12, 1))


def drawn(
    weights: Mapping[Stack, float], samples: int, rng: np.random.Generator, name: str = "cpu.pb.gz"
) -> Profile:
    """A profile of CPU with so many samples, drawn from the weights of its stacks."""
    shares = np.array([*weights.values()]) / sum(weights.values())
    counts = rng.multinomial(samples, shares)
    types = (SampleType("samples", "count"), SampleType("cpu", "nanoseconds"))
    stacks = {
        stack: (int(count), int(count) * 10_000_000)
        for stack, count in zip(weights, counts, strict=True)
    }
    return Profile(name, types, "cpu", stacks, 10_000_000, "nanoseconds")
