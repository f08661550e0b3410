"""What a published page records of its plan, as steps in the order of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlab.language import Language
from benchlab.language.names import items
from benchlab.published.reading.model import Act, StatedSetting
from benchlab.published.rendering.tables import Section

_BEFORE: dict[Act, str] = {"analyze": "published-analyze", "back_up": "published-back-up"}
_BENCHMARKSQL = "BenchmarkSQL"
_CLIENTS = ("sysbench", "tiup bench tpcc", "go-tpc tpcc", "go-tpc")


def steps(setting: StatedSetting, sections: Sequence[Section], language: Language) -> Iterator[str]:
    """Sentences, one for each step.

    Args:
        setting: what the page says of how it was measured.
        sections: its results, which have the thread counts.
    """
    say = language.say
    if setting.tables is not None and setting.table_size is not None:
        yield say("published-dataset", tables=setting.tables, rows=setting.table_size)
    if setting.warehouses is not None:
        yield say("published-warehouses", warehouses=setting.warehouses)
    yield from (say(_BEFORE[act]) for act in setting.acts if act in _BEFORE)
    if client := _client(setting):
        yield say("published-client", client=client)
    if setting.load_balancers:
        yield say("published-entry", names=items(setting.load_balancers, language))
    if setting.warmup_seconds is not None:
        yield say("published-warm-up", seconds=setting.warmup_seconds)
    by_command, stated = setting.seconds, setting.stated_seconds
    if by_command is not None and stated is not None and by_command != stated:
        yield say("published-duration-two", seconds=by_command, stated=stated)
    elif (seconds := by_command if by_command is not None else stated) is not None:
        yield say("published-duration", seconds=seconds)
    yield from _threads(sections, language)
    if "restore" in setting.acts:
        yield say("published-restore")


def _client(setting: StatedSetting) -> str:
    """The program that made the load: that of the commands, else as the steps name it."""
    used = [command.tool for command in setting.commands if command.tool in _CLIENTS]
    if used:
        return used[0].removesuffix(" tpcc")
    named = any(_BENCHMARKSQL.lower() in step.text.lower() for step in setting.steps)
    return _BENCHMARKSQL if named else ""


def _threads(sections: Sequence[Section], language: Language) -> Iterator[str]:
    """One sentence for all workloads with the same thread counts."""
    lists: dict[tuple[int, ...], list[str]] = {}
    for section in sections:
        if section.tables:
            counts = tuple(row.threads for row in section.workload.rows)
            lists.setdefault(counts, []).append(section.workload.name)
    for counts, names in lists.items():
        threads = items(map(str, counts), language)
        if len(lists) == 1:
            yield language.say("published-threads-all", threads=threads)
        else:
            yield language.say(
                "published-threads-some", threads=threads, names=items(names, language)
            )
