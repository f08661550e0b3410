"""What the sentences of a plan say: thread counts, sizes, times, load balancers.

A number is taken only where all sentences that give it agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from benchlab.published.reading.model import StatedStep, ThreadList
from benchlab.published.reading.wording import (
    COUNT,
    FLAGS,
    Duration,
    counted,
    durations,
    sentences,
    workloads,
)


def agreed(values: Iterable[int | None]) -> int | None:
    """The value that all agree on; None where there is none, or more than one."""
    different = {value for value in values if value is not None}
    return different.pop() if len(different) == 1 else None


# ---------------------------------------------------------------- sizes

_TABLES = re.compile(rf"{COUNT}\s*(?:(?:[a-z]+\s+)?tables?\b|[张个]\s*(?:数据)?表)", FLAGS)
_ROWS = re.compile(rf"{COUNT}\s*(?:rows?\b|records?\b|pieces\b|entries\b|[条行])", FLAGS)
_ROWS_EACH = re.compile(rf"每[张个]表?(?:(?!\d)[^，,。；])*{COUNT}\s*(?![张个秒分小])", FLAGS)
_WAREHOUSES = re.compile(rf"{COUNT}\s*(?:TPC-C\s+)?(?:warehouses?\b|个?(?:数据)?仓库)", FLAGS)


def stated_tables(steps: Sequence[StatedStep]) -> int | None:
    """Number of tables, as in ``16 tables``, ``16 张表``."""
    return _stated(steps, _TABLES)


def stated_rows(steps: Sequence[StatedStep]) -> int | None:
    """Rows of each table, as in ``10 million rows``, ``每张表有 1000 万行``."""
    return _stated(steps, _ROWS, _ROWS_EACH)


def stated_warehouses(steps: Sequence[StatedStep]) -> int | None:
    """Number of warehouses, as in ``1,000 warehouses``, ``1000 个仓库``."""
    return _stated(steps, _WAREHOUSES)


def _stated(steps: Sequence[StatedStep], *patterns: re.Pattern[str]) -> int | None:
    return agreed(
        counted(match)
        for step in steps
        for pattern in patterns
        for match in pattern.finditer(step.text)
    )


# ---------------------------------------------------------------- times

_WARM_UP = re.compile(r"warm|预热", FLAGS)
_WARM_UP_BEHIND = re.compile(r"[\s-]*(?:of\s+)?(?:the\s+)?warm|\s*的?预热", FLAGS)
_OF_A_RUN = re.compile(
    r"\b(?:tests?|tested|runs?|running|trials?|concurrency|benchmark)\b|测试|压测|运行|并发", FLAGS
)
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:wait|every|interval|timeout|sleep|import\w*|load(?:s|ing)?|restor\w+|back\w*|total|cool\w*"
    r"|minutes? (?:before|after))\b|等待|每隔|间隔|超时|导入|恢复|备份|冷却|[总共]",
    FLAGS,
)
_IN_TOTAL = re.compile(r"\s*(?:in total|altogether|后|interval|timeout)", FLAGS)


def stated_times(steps: Sequence[StatedStep]) -> tuple[int | None, int | None]:
    """Seconds of one run, and of its warm-up."""
    runs: list[int] = []
    warm_ups: list[int] = []
    for step in steps:
        for sentence in sentences(step.text):
            begin = 0
            for duration in durations(sentence):
                before, behind = sentence[begin : duration.start], sentence[duration.end :]
                clause = re.split(r"[,，;；、:：]|\band\b", before)[-1]
                if _WARM_UP.search(clause) or _WARM_UP_BEHIND.match(behind):
                    warm_ups.append(duration.seconds)
                elif _is_of_a_run(duration, before, clause, sentence):
                    runs.append(duration.seconds)
                begin = duration.end
    return agreed(runs), agreed(warm_ups)


def _is_of_a_run(duration: Duration, before: str, clause: str, sentence: str) -> bool:
    behind = sentence[duration.end :]
    return (
        _OF_SOMETHING_ELSE.search(clause) is None
        and _IN_TOTAL.match(behind) is None
        and (_OF_A_RUN.search(before) or _OF_A_RUN.match(behind.lstrip())) is not None
    )


# ---------------------------------------------------------------- thread counts

_COUNT = r"(?>(?:[1-9],\d{3}(?!\d|,\d)|\d+)(?:\s*[*×]\s*\d+)?)"
_AND = r"(?>\s*(?:,\s*(?:and|or)\b|[,，、&/]|\b(?:and|or)\b|以及|[和及与或])\s*)"
_LIST = rf"(?P<list>(?>{_COUNT}(?:{_AND}{_COUNT})*))"
# A range, or "and so on", is no list.
_WHOLE = r"(?!\s*(?:[%~～–-]|\.\d|[,，、]?\s*(?:\.\.|…|等)|\bto\b|[至到年月]))"
_OTHER_UNIT = (
    r"(?!\s*(?:seconds?|minutes?|hours?|tables?|rows?|warehouses?|ms"
    r"|秒|分|小时|张|行|条|个?表|个?仓))"
)
_BEFORE = r"(?<![\w.,~～–*-])"
_THREADS = r"(?:concurrent\s+)?(?:threads?\b|concurrenc(?:y|ies)\b|connections?\b|个?线程|个?并发)"
_LIST_BEHIND = re.compile(
    r"(?:\$?\{+\s*threads?\s*\}+|\$threads?\b|\bthreads?\b|\bconcurrenc(?:y|ies)\b"
    r"|\bconcurrent\s+(?:numbers?|connections?)\b|线程数?|并发数?)"
    r"(?:\s|[:：=(（`'\"“”]|\b(?:values?|levels?|counts?|numbers?|of|is|are|was|were|to|as|at|set)\b"
    rf"|分别|依次|取|的|值|为|是|设置|设为)*{_LIST}{_WHOLE}{_OTHER_UNIT}",
    FLAGS,
)
_LIST_BEFORE = re.compile(rf"{_BEFORE}{_LIST}\s*{_THREADS}", FLAGS)
_ABOUT_THREADS = re.compile(r"thread|concurren|connection|线程|并发", FLAGS)
_RANGE_BEFORE = re.compile(r"(?:\d\s*(?:to|~|～|–|-|至|到)|\.\.\.|…)\s*\Z", FLAGS)
_OF_A_SERVER = re.compile(
    r"\b(?:per|each|every)\s+(?:\w+\s+)?(?:hosts?|nodes?|servers?|machines?|instances?|cpus?|cores?"
    r"|sockets?)\b|\b(?:coprocessors?|thread[\s-]?pools?|pools?|grpc|raft\w*|apply|schedulers?"
    r"|compactions?|background|hyper-?threading|v?cpus?|cores?|worker|executors?|internal)\b"
    r"|\b(?:tidb|tikv|tiflash|pd|haproxy|mysqld|mariadb)\s+(?:servers?\s+)?(?:uses?|has|have|starts?|runs?\s+with"
    r"|(?:is|are)\s+(?:configured|set|deployed|started))\b|\bwarm"
    r"|每[台个]?(?:主机|节点|机器|服务器|实例|核)|协处理器|线程池|后台|超线程|预热|(?:单|多|\d\s*)核"
    r"|(?:TiDB|TiKV|TiFlash|PD|HAProxy)\s*(?:使用|有|配置|启动)",
    FLAGS,
)
_OF_A_CLIENT = re.compile(
    r"\b(?:clients?|sysbench|(?:go-)?tpc-?c?|tests?|tested|testing|runs?|running|measur\w*"
    r"|benchmarks?|workloads?|stress|pressure|concurren\w*|connections?|sweep|trials?)\b"
    r"|客户端|测试|压测|加压|压力|运行|执行|并发|连接|负载",
    FLAGS,
)
_OF_THE_LOAD = re.compile(r"\b(?:import|load|prepar|insert)\w*\b|导入|加载|准备", FLAGS)


def thread_lists(steps: Sequence[StatedStep]) -> tuple[ThreadList, ...]:
    """Lists of thread counts that are planned, each with the workloads that its sentence names.

    ``64 * 4``, four clients of 64 threads, is 256. A range ("from 50 to 400") is no list.
    """
    return tuple(
        found
        for step in steps
        for sentence in sentences(step.text)
        if _ABOUT_THREADS.search(sentence)
        for found in _lists_in(sentence, step.line)
    )


def _lists_in(sentence: str, line: int) -> Iterator[ThreadList]:
    matches: list[re.Match[str]] = []
    end = 0
    both = (*_LIST_BEHIND.finditer(sentence), *_LIST_BEFORE.finditer(sentence))
    for match in sorted(both, key=lambda match: match.start("list")):
        if match.start("list") >= end and not _is_end_of_range(sentence, match):
            matches.append(match)
            end = match.end("list")
    named = workloads(sentence)
    names_first = bool(named and matches) and named[0].start < matches[0].start("list")
    for at, match in enumerate(matches):
        counts = _counts(match["list"])
        if len(counts) == 1 and not _is_of_a_sweep(sentence, names_workload=bool(named)):
            continue
        if len(matches) == 1:
            begin, end = 0, len(sentence)
        elif names_first:
            begin, end = matches[at - 1].end("list") if at else 0, match.start("list")
        else:
            last = at + 1 == len(matches)
            begin, end = match.end("list"), len(sentence) if last else matches[at + 1].start("list")
        about = dict.fromkeys(name.name for name in named if begin <= name.start < end)
        yield ThreadList(counts, tuple(about), line)


def _is_of_a_sweep(sentence: str, *, names_workload: bool) -> bool:
    """Whether one thread count is the client's that measures, not of a load, server or host."""
    return (names_workload or _OF_A_CLIENT.search(sentence) is not None) and not (
        _OF_THE_LOAD.search(sentence) or _OF_A_SERVER.search(sentence)
    )


def _is_end_of_range(sentence: str, match: re.Match[str]) -> bool:
    begin = match.start("list")
    return _RANGE_BEFORE.search(sentence[max(begin - 20, 0) : begin]) is not None


def _counts(text: str) -> tuple[int, ...]:
    counts: list[int] = []
    for match in re.finditer(_COUNT, text, re.ASCII):
        product = 1
        for factor in re.split(r"[*×]", match[0]):
            product *= int(factor.replace(",", "")[:9])
        counts.append(product)
    return tuple(counts)


# ---------------------------------------------------------------- load balancers

_BALANCERS = {
    "HAProxy": r"haproxy",
    "NLB": r"nlb|network\s+load\s+balancers?",
    "ALB": r"alb|application\s+load\s+balancers?",
    "ELB": r"elb|elastic\s+load\s+balanc(?:ers?|ing)",
    "LVS": r"lvs",
    "Nginx": r"nginx",
    "TiProxy": r"tiproxy",
    "ProxySQL": r"proxysql",
    "Envoy": r"envoy",
    "Keepalived": r"keepalived",
}
_BALANCER = re.compile(
    r"(?<![A-Za-z0-9_$/.-])(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _BALANCERS.items())
    + r")(?![A-Za-z0-9_])(?!\.(?:cfg|pid))",
    FLAGS,
)
_WITHOUT = re.compile(
    r"(?:\b(?:without|no|not|instead of|bypass\w*)\b|不使用|不通过|不经过|没有|未使用|代替)"
    r"(?:\s*(?:a|an|the|any|using|use|via|through|aws|通过|经过|使用)\b)*\s*\Z",
    FLAGS,
)
_PORT = re.compile(
    r"(?:\bports?\s*(?:of|is|=|:)?\s*|端口\s*(?:为|是|:|：)?\s*)(\d{1,5})(?!\d)", FLAGS
)
_LISTENS = re.compile(r"\blisten|监听", FLAGS)


def load_balancers(text: str) -> tuple[str, ...]:
    """The load balancers that a text names, in its order, each once; not one that is left out."""
    return tuple(
        dict.fromkeys(
            str(match.lastgroup)
            for match in _BALANCER.finditer(text)
            if not _WITHOUT.search(text[max(match.start() - 40, 0) : match.start()])
        )
    )


def stated_ports(text: str) -> tuple[int, ...]:
    """Ports that sentences say a load balancer listens on."""
    return tuple(
        int(match[1])
        for sentence in sentences(text)
        if load_balancers(sentence) and _LISTENS.search(sentence)
        for match in _PORT.finditer(sentence)
    )


_SECTION = re.compile(r"(global|defaults|listen|frontend|backend|userlist|peers)\b(.*)", FLAGS)
_BIND = re.compile(r"\s*bind\s+([^\s#]+)", FLAGS)
_ADDRESS_PORT = re.compile(r"[^\s#,]*:(\d{1,5})(?![\d.])", re.ASCII)
_OWN_PAGES = re.compile(r"^\s*stats\s", FLAGS | re.MULTILINE)


def bound_ports(configuration: str) -> tuple[int, ...]:
    """Ports on which HAProxy takes connections to the database, of its configuration file.

    Sections with its own pages (``stats``) are left out. The ports stand behind ``bind``, in files
    of old versions behind the name of a ``listen`` section, too.
    """
    sections: list[list[str]] = [[]]
    for line in configuration.split("\n"):
        if _SECTION.match(line.strip()):
            sections.append([])
        sections[-1].append(line)
    return tuple(
        dict.fromkeys(
            int(port[1])
            for section in sections
            if not _OWN_PAGES.search("\n".join(section))
            for line in section
            for place in _listening(line)
            for port in _ADDRESS_PORT.finditer(place)
        )
    )


def _listening(line: str) -> Iterator[str]:
    if bind := _BIND.match(line):
        yield bind[1]
    section = _SECTION.match(line.strip())
    if section and section[1].lower() in ("listen", "frontend"):
        yield section[2].partition("#")[0]
