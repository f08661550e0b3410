"""How, according to a published page, it was measured: hosts, versions, parameters, plan, commands.

An element belongs to the part of the page that the innermost heading above it names. What the page
does not say is None or empty. A number is used only if all commands that give it agree, or, if no
command gives it, all sentences. Where commands contradict each other, sentences do not decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from benchlab.published.plan import command_line, prose
from benchlab.published.plan.command_line import CommandLine
from benchlab.published.plan.commands import commands, is_shell, sentences_alone
from benchlab.published.plan.planned import (
    ROWS,
    TABLES,
    WAREHOUSES,
    acts,
    agreed,
    bound_ports,
    load_balancers,
    stated,
    stated_ports,
    stated_times,
    thread_lists,
)
from benchlab.published.reading import version_names
from benchlab.published.reading.document import Document, Element
from benchlab.published.reading.model import Block, PageKind, StatedSetting, StatedStep
from benchlab.published.reading.wording import FLAGS


def setting(document: Document, kind: PageKind) -> StatedSetting:
    """What a page says about how it was measured; sysbench has tables, TPC-C has warehouses."""
    elements = [e for e in document.elements if not e.commented and e.kind != "comment"]
    plan = [e for e in elements if e.kind in ("item", "paragraph") and part(e) == "plan" and e.text]
    planned = [StatedStep(sentences_alone(element), element.line) for element in plan]
    configurations = [e for e in elements if _is_block(e) and part(e) == "parameters"]
    called = commands(elements)
    lines = [line for command in called if (line := command_line.read(command))]
    of_sysbench = kind == "sysbench"
    run_seconds, warmup_seconds = stated_times(planned)
    return StatedSetting(
        hardware=_hardware(elements),
        software=_software(elements),
        git_hashes=_git_hashes(elements),
        parameters=tuple(
            Block(
                *(element.heading, element.language, element.text, element.line),
                workloads=prose.named(above),
            )
            for above, element in zip((None, *elements), elements, strict=False)
            if _is_block(element)
            and (
                part(element) == "parameters"
                or (part(element) != "results" and _SETS.search(element.text))
            )
        ),
        said=tuple(prose.said([(e, part(e)) for e in elements], document.title)),
        steps=tuple(StatedStep(element.text, element.line) for element in plan),
        acts=acts(planned, (e.text for e in elements if e.kind == "code" and part(e) == "plan")),
        commands=called,
        thread_lists=thread_lists(planned),
        load_balancers=_described_balancers(planned, configurations),
        entry_ports=_entry_ports(planned, configurations),
        tables=_number(lines, _TABLES, planned, TABLES) if of_sysbench else None,
        table_size=_number(lines, _TABLE_SIZE, planned, ROWS) if of_sysbench else None,
        warehouses=None if of_sysbench else _number(lines, _WAREHOUSES, planned, WAREHOUSES),
        seconds=agreed(_run_seconds(lines)),
        stated_seconds=run_seconds,
        warmup_seconds=warmup_seconds,
        measured=_labelled(elements, _MEASURED),
        place=_labelled(elements, _PLACE),
    )  # fmt: skip


# ---------------------------------------------------------------- parts of the page

Part = Literal["results", "plan", "software", "environment", "parameters"]
_PARTS: dict[Part, re.Pattern[str]] = {
    # if several match a heading, the first counts
    "results": re.compile(r"\bresults?\b|结果", FLAGS),
    "software": re.compile(r"software|\bversion information|版本信息|软件", FLAGS),
    "environment": re.compile(
        r"hardware|\bmachines?\b|topology|executor|environment|\bclusters?\b|\btime\b"
        r"|硬件|机器|拓扑|执行器|环境|集群|时间",
        FLAGS,
    ),
    "parameters": re.compile(r"config|parameter|variable|\bsettings?\b|配置|参数|变量", FLAGS),
    "plan": re.compile(
        r"\btest(?:ing)?\s+(?:plan|steps?|procedure|method)|prepare|\b(?:perform|run|execute)\b"
        r"|\bload (?:the )?data\b|测试(?:方案|步骤|计划|方法|流程)|准备|执行",
        FLAGS,
    ),
}


def part(element: Element) -> Part | None:
    """The part of the page that an element is in; None if no heading above it names one."""
    for heading in reversed(element.headings):
        for name, pattern in _PARTS.items():
            if pattern.search(heading):
                return name
    return None


# ---------------------------------------------------------------- tables

_OF_RESULTS = re.compile(
    r"\b(?:threads?|qps|tps|tpmc)\b|latenc|improve|线程|延迟|并发|提升|\bp9\d\b", FLAGS
)
_OF_HASHES = re.compile(r"git\s*hash|commit|\bhash\b", FLAGS)
_OF_VERSIONS = re.compile(r"version|版本", FLAGS)
_OF_HOSTS = re.compile(
    r"hardware|machine|instance|node|\bcpu\b|\bec2\b|硬件|机器|机型|节点|实例|服务类型", FLAGS
)


def _topic(element: Element) -> Literal["results", "hashes", "versions", "hosts"] | None:
    """What a table is about; None if that cannot be seen."""
    row = element.table[0] if element.table else ()
    if part(element) == "results" or any(map(_OF_RESULTS.search, row)):
        return "results"
    if any(map(_OF_HASHES.search, row)):
        return "hashes"
    if any(map(_OF_VERSIONS.search, row[1:])):
        return "versions"
    of_hosts = part(element) == "environment" or any(map(_OF_HOSTS.search, row))
    return "hosts" if of_hosts and len(row) > 1 else None


def _hardware(elements: Sequence[Element]) -> dict[str, dict[str, str]]:
    """Rows of the host tables, and labelled list items of the environment, by their heading.

    Rows of the same name in several tables are merged; for cells under the same heading, the first
    counts.
    """
    found: dict[str, dict[str, str]] = {}
    for element in elements:
        if element.kind == "table" and _topic(element) == "hosts":
            names, *rows = element.table
            for row in rows:
                cells = {name: cell for name, cell in zip(names[1:], row[1:], strict=False) if cell}
                if row and row[0] and cells:
                    found[row[0]] = cells | found.get(row[0], {})
        elif element.kind == "item" and part(element) == "environment":
            label = _LABELLED.match(element.text)
            if label and not _OF_VERSIONS.search(label["label"]):
                found.setdefault(element.heading, {}).setdefault(label["label"], label["value"])
    return found


def _software(elements: Sequence[Element]) -> dict[str, str]:
    """Versions from tables, then from lines such as ``Sysbench version: 1.1.0``."""
    found: dict[str, str] = {}
    for element in elements:
        if element.kind == "table" and _topic(element) == "versions":
            names, *rows = element.table
            column = next(i for i, name in enumerate(names) if i and _OF_VERSIONS.search(name))
            for row in rows:
                if len(row) > column and row[0] and row[column]:
                    found.setdefault(row[0], row[column])
        elif element.kind in ("paragraph", "item") and part(element) in ("environment", "software"):
            for line in _VERSION_LINE.finditer(element.text):
                found.setdefault(line["service"], line["value"])
    return found


def _git_hashes(elements: Sequence[Element]) -> dict[str, dict[str, str]]:
    """Each version's hashes by component; the column names the version, or else the heading."""
    found: dict[str, dict[str, str]] = {}
    for element in elements:
        if not element.table or not any(map(_OF_HASHES.search, element.table[0])):
            continue
        names, *rows = element.table
        above = next(
            (v for h in reversed(element.headings) for v in version_names.in_sentence(h)[-1:]), None
        )
        for column, name in enumerate(names):
            version = next(iter(version_names.in_sentence(name)), above)
            if column and version and _OF_HASHES.search(name):
                hashes = {row[0]: row[column] for row in rows if len(row) > column and row[column]}
                found[version] = hashes | found.get(version, {})
    return found


# ---------------------------------------------------------------- labelled lines

_LABELLED = re.compile(r"(?P<label>[^:：。]{1,40}?)\s*[:：]\s*(?P<value>\S.*)", re.DOTALL)
_LABEL = (
    r"(?:(?:\S+\s+)?versions?|\S*\s*版本|(?:test\s+)?(?:time|date|place|location)"
    r"|时间|日期|地点|位置)\s*[:：]"
)
_END = rf"(?=\s+{_LABEL}|\Z)"
_VERSION_LINE = re.compile(
    rf"(?:\A|(?<=\s))(?P<service>[^\s:：][^:：。]{{0,30}}?)\s*(?:versions?|版本)\s*[:：]\s*"
    rf"(?P<value>(?=.*\d)\S.*?){_END}",
    FLAGS,
)
_MEASURED = re.compile(
    rf"(?:\A|\s)(?:test(?:ing)?\s+)?(?:time|date|(?:测试)?(?:时间|日期))\s*[:：]\s*(?P<value>\S.*?){_END}",
    FLAGS,
)
_PLACE = re.compile(
    rf"(?:\A|\s)(?:test(?:ing)?\s+)?(?:place|location|(?:测试)?(?:地点|位置))\s*[:：]\s*(?P<value>\S.*?){_END}",
    FLAGS,
)


def _labelled(elements: Sequence[Element], pattern: re.Pattern[str]) -> str | None:
    """The value after a label, outside plan and results; None if there is none or values differ."""
    found = {
        match["value"]
        for element in elements
        if element.kind in ("paragraph", "item")
        and part(element) in ("environment", "software", None)
        for match in pattern.finditer(element.text)
    }
    return found.pop() if len(found) == 1 else None


# ---------------------------------------------------------------- code blocks

_SETS = re.compile(
    r"^[^\S\n]*set\s++(?:(?:@@)?(?:global|session)[\s.]++)?@{0,2}[\w.]++\s*=",
    FLAGS | re.MULTILINE,
)


def _is_block(element: Element) -> bool:
    return element.kind == "code" and bool(element.text.strip()) and not is_shell(element)


def _described_balancers(
    prose: Sequence[StatedStep], configurations: Sequence[Element]
) -> tuple[str, ...]:
    """The load balancers that the plan or a configuration names, in the page's order."""
    named = [(step.line, name) for step in prose for name in load_balancers(step.text)]
    for block in configurations:
        if bound_ports(block.text):
            text = f"{block.heading}\n{block.text}"
            named += [(block.line, name) for name in load_balancers(text)]
    return tuple(dict.fromkeys(name for _, name in sorted(named, key=lambda pair: pair[0])))


def _entry_ports(prose: Sequence[StatedStep], configurations: Sequence[Element]) -> tuple[int, ...]:
    ports = [(block.line, port) for block in configurations for port in bound_ports(block.text)]
    ports += [(step.line, port) for step in prose for port in stated_ports(step.text)]
    return tuple(dict.fromkeys(port for _, port in sorted(ports) if 0 < port < 2**16))


# ---------------------------------------------------------------- numbers of the commands

_TABLES = ("tables", "oltp-tables-count")
_TABLE_SIZE = ("table-size", "oltp-table-size")
_WAREHOUSES = ("warehouses", "warehouse")
_TIMES = ("time", "max-time")
_TIME = re.compile(r"(?:(?P<h>\d{1,5})h)?(?:(?P<m>\d{1,6})m)?(?:(?P<s>\d{1,8})s?)?", re.ASCII)


def _number(
    lines: Iterable[CommandLine],
    names: Sequence[str],
    prose: Sequence[StatedStep],
    patterns: Sequence[re.Pattern[str]],
) -> int | None:
    """The number on which all commands with such an option agree; without any, the sentences'."""
    values = _values(lines, names)
    numbers = [int(v) for v in values if re.fullmatch(r"\d{1,18}", v, re.ASCII)]
    return agreed(numbers) if numbers else stated(prose, *patterns)


def _run_seconds(lines: Iterable[CommandLine]) -> list[int]:
    """Seconds in the commands that run a test; go-tpc writes ``1800s``, ``30m`` and ``2h0m0s``."""
    values = _values((line for line in lines if line.action == "run"), _TIMES)
    times = [match for value in values if (match := _TIME.fullmatch(value))]
    return [
        3600 * int(match["h"] or 0) + 60 * int(match["m"] or 0) + int(match["s"] or 0)
        for match in times
    ]


def _values(lines: Iterable[CommandLine], names: Sequence[str]) -> list[str]:
    return [value for line in lines for name in names if (value := line.options.get(name))]
