"""What a published page records of its plan, as steps in the order of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlab.language import Language
from benchlab.language.names import items
from benchlab.published.reading.model import Act, StatedSetting
from benchlab.published.rendering.tables import Section

_BEFORE: dict[Act, str] = {"analyze": "published-analyze", "back_up": "published-back-up"}
_BETWEEN: dict[Act, str] = {"restore": "published-restore"}
_BENCHMARKSQL = "BenchmarkSQL"
_CLIENTS = ("sysbench", "tiup bench tpcc", "go-tpc tpcc", "go-tpc")


def steps(setting: StatedSetting, sections: Sequence[Section], language: Language) -> Iterator[str]:
    """Sentences, one for each step.

    Args:
        setting: what the page says of how it was measured.
        sections: its results, which have the thread counts.
    """
    yield from _dataset(setting, language)
    yield from (language.say(_BEFORE[act]) for act in setting.acts if act in _BEFORE)
    if name := _client(setting):
        yield language.say("published-client", client=name)
    if setting.load_balancers:
        yield language.say("published-entry", names=items(setting.load_balancers, language))
    if setting.warmup_seconds is not None:
        yield language.say("published-warm-up", seconds=setting.warmup_seconds)
    yield from _duration(setting, language)
    yield from _threads(sections, language)
    yield from (language.say(_BETWEEN[act]) for act in setting.acts if act in _BETWEEN)


def _dataset(setting: StatedSetting, language: Language) -> Iterator[str]:
    if setting.tables is not None and setting.table_size is not None:
        yield language.say("published-dataset", tables=setting.tables, rows=setting.table_size)
    if setting.warehouses is not None:
        yield language.say("published-warehouses", warehouses=setting.warehouses)


def _client(setting: StatedSetting) -> str:
    """The program that made the load: that of the commands, else as the steps name it."""
    used = [each.tool for each in setting.commands if each.tool in _CLIENTS]
    if used:
        return used[0].removesuffix(" tpcc")
    named = any(_BENCHMARKSQL.lower() in step.text.lower() for step in setting.steps)
    return _BENCHMARKSQL if named else ""


def _duration(setting: StatedSetting, language: Language) -> Iterator[str]:
    by_command, stated = setting.seconds, setting.stated_seconds
    if by_command is not None and stated is not None and by_command != stated:
        yield language.say("published-duration-two", seconds=by_command, stated=stated)
    elif (seconds := by_command if by_command is not None else stated) is not None:
        yield language.say("published-duration", seconds=seconds)


def _threads(sections: Sequence[Section], language: Language) -> Iterator[str]:
    """One sentence for all workloads with the same thread counts."""
    lists: dict[tuple[int, ...], list[str]] = {}
    for each in sections:
        counts = tuple(row.threads for row in each.result.workload.rows)
        if counts and each.tables:
            lists.setdefault(counts, []).append(each.result.workload.name)
    for counts, names in lists.items():
        threads = items(map(str, counts), language)
        if len(lists) == 1:
            yield language.say("published-threads-all", threads=threads)
        else:
            yield language.say(
                "published-threads-some", threads=threads, names=items(names, language)
            )
