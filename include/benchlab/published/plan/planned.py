"""What the sentences of a plan say: sizes, times, thread counts, load balancers, and what is done
with the data apart from measuring.

A number is used only if all sentences that give it agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchlab.published.reading.model import Act, StatedStep, ThreadList
from benchlab.published.reading.wording import (
    COUNT,
    FLAGS,
    counted,
    durations,
    sentences,
    workloads,
)


def agreed(values: Iterable[int | None]) -> int | None:
    """The value that all agree on; None if there is none, or more than one."""
    different = {value for value in values if value is not None}
    return different.pop() if len(different) == 1 else None


# ---------------------------------------------------------------- sizes

TABLES = (re.compile(rf"{COUNT}\s*(?:(?:[a-z]+\s+)?tables?\b|[张个]\s*(?:数据)?表)", FLAGS),)
ROWS = (  # of each table
    re.compile(rf"{COUNT}\s*(?:rows?\b|records?\b|pieces\b|entries\b|[条行])", FLAGS),
    re.compile(rf"每[张个]表?(?:(?!\d)[^，,。；])*{COUNT}\s*(?![张个秒分小])", FLAGS),
)
WAREHOUSES = (re.compile(rf"{COUNT}\s*(?:TPC-C\s+)?(?:warehouses?\b|个?(?:数据)?仓库)", FLAGS),)


def stated(steps: Sequence[StatedStep], *patterns: re.Pattern[str]) -> int | None:
    """The number that the sentences agree on, as in ``16 tables``, ``每张表有 1000 万行``; or None.

    >>> stated([StatedStep("Load 1,000 warehouses.", 1)], *WAREHOUSES)
    1000
    """
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
    """Seconds of one run and of its warm-up; None if not stated, or stated differently."""
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
                elif not (_OF_SOMETHING_ELSE.search(clause) or _IN_TOTAL.match(behind)) and (
                    _OF_A_RUN.search(before) or _OF_A_RUN.match(behind.lstrip())
                ):
                    runs.append(duration.seconds)
                begin = duration.end
    return agreed(runs), agreed(warm_ups)


# ---------------------------------------------------------------- thread counts

_COUNT = r"(?>(?:[1-9],\d{3}(?!\d|,\d)|\d+)(?:\s*[*×]\s*\d+)?)"
_AND = r"(?>\s*(?:,\s*(?:and|or)\b|[,，、&/]|\b(?:and|or)\b|以及|[和及与或])\s*)"
_LIST = rf"(?P<list>(?>{_COUNT}(?:{_AND}{_COUNT})*))"
# A range or "and so on" is not a list.
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
    """Planned lists of thread counts, each with the workloads that its sentence names.

    ``64 * 4``, four clients with 64 threads, is 256. A range ("from 50 to 400") is not a list.
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
        at = match.start("list")
        if at >= end and not _RANGE_BEFORE.search(sentence[max(at - 20, 0) : at]):
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
    """Whether a single thread count is that of the measuring client, not of a load or a server."""
    return (names_workload or _OF_A_CLIENT.search(sentence) is not None) and not (
        _OF_THE_LOAD.search(sentence) or _OF_A_SERVER.search(sentence)
    )


def _counts(text: str) -> tuple[int, ...]:
    return tuple(
        math.prod(int(factor.replace(",", "")[:9]) for factor in re.split(r"[*×]", match[0]))
        for match in re.finditer(_COUNT, text, re.ASCII)
    )


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
    """The load balancers that a text names, in order, each once; not in "without HAProxy"."""
    return tuple(
        dict.fromkeys(
            str(match.lastgroup)
            for match in _BALANCER.finditer(text)
            if not _WITHOUT.search(text[max(match.start() - 40, 0) : match.start()])
        )
    )


def stated_ports(text: str) -> tuple[int, ...]:
    """The ports on which, according to sentences, a load balancer listens."""
    return tuple(
        int(match[1])
        for sentence in sentences(text)
        if load_balancers(sentence) and _LISTENS.search(sentence)
        for match in _PORT.finditer(sentence)
    )


_SECTION = re.compile(r"(global|defaults|listen|frontend|backend|userlist|peers)\b(.*)", FLAGS)
_BIND = re.compile(r"\s*bind\s+([^\s#]+)", FLAGS)
_ADDRESS_PORT = re.compile(r"[^\s#,]*:(\d{1,5})(?![\d.])", re.ASCII)
_OWN_PAGES = re.compile(r"^[^\S\n]*stats\s", FLAGS | re.MULTILINE)


def bound_ports(configuration: str) -> tuple[int, ...]:
    """The ports on which HAProxy accepts database connections, from its configuration file.

    Sections for its statistics page (``stats``) are left out. A port follows ``bind``; in files of
    old versions also the name of a ``listen`` section.
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
            for address in _listening(line)
            for port in _ADDRESS_PORT.finditer(address)
        )
    )


def _listening(line: str) -> Iterator[str]:
    if bind := _BIND.match(line):
        yield bind[1]
    section = _SECTION.match(line.strip())
    if section and section[1].lower() in ("listen", "frontend"):
        yield section[2].partition("#")[0]


# ---------------------------------------------------------------- acts

_ACTS: Mapping[Act, re.Pattern[str]] = {
    "analyze": re.compile(
        r"\banaly[sz](?:e|es|ed|ing)\W{1,3}(?:the\s+|each\s+|all\s+|every\s+)?tables?\b"
        r"|\btables?\s+(?:is|are|was|were)\s+analy[sz]ed\b"
        r"|\b(?:collect|gather|updat)(?:s|es|e|ed|ing)?\s+(?:the\s+)?(?:table\s+)?statistics\b"
        r"|\bstatistics\s+(?:of\s+(?:the\s+|all\s+|each\s+)?tables?\s+)?"
        r"(?:is|are|was|were)\s+(?:collected|gathered|updated)\b"
        r"|(?:收集|更新)\s*(?:表的?)?\s*统计信息",
        FLAGS,
    ),
    "back_up": re.compile(
        r"\bback(?:s|ed|ing)?\s+up\b|\b(?:take|takes|taken|make|makes|made|create[sd]?)\s+"
        r"(?:of\s+)?(?:a\s+|the\s+)?(?:full\s+)?backups?\b|\bbackups?\s+(?:is|are|was|were)\s+"
        r"(?:taken|made|created)\b|备份\s*(?:了|好|全部|所有)?\s*数据|数据[^，,。；;]{0,8}备份",
        FLAGS,
    ),
    "restore": re.compile(
        r"\brestor(?:e|es|ed|ing)\s+(?:(?:all|the|its|this|that|each|loaded|test)\s+)*"
        r"(?:data(?:sets?|bases?)?|clusters?|tables?|backups?|snapshots?|it\b|from\b)"
        r"|\bdata(?:sets?|bases?)?\s+(?:is|are|was|were)\s+restored\b"
        r"|\boverwrit(?:e|es|ten|ing)\b[^.;]{0,40}\b(?:backup|backed[\s-]up)\b"
        r"|(?:数据|备份)[^。；;]{0,8}(?:恢复|还原|覆盖)|(?:恢复|还原)[^。；;]{0,6}(?:数据|备份|集群)",
        FLAGS,
    ),
}
_NEGATED = re.compile(
    r"(?:\b(?:not|no|never|without|instead\s+of|skip\w*|neither|nor)\b|n['’]t\b"
    r"|不|没有|未|无需|无须|跳过)[^,，;；:：]*\Z",
    FLAGS,
)
_ANALYZES = re.compile(r"^[^\S\n]*analyze\s+table\s+\S", FLAGS | re.MULTILINE)


def acts(steps: Sequence[StatedStep], shown: Iterable[str]) -> tuple[Act, ...]:
    """What is done with the data apart from measuring, each once, in the order of a run.

    Negated clauses do not count: "the data is not restored", "没有备份". ``shown`` are the plan's
    code blocks.
    """
    found = {
        act
        for step in steps
        for sentence in sentences(step.text)
        for act, pattern in _ACTS.items()
        if any(
            not _NEGATED.search(sentence[: match.start()]) for match in pattern.finditer(sentence)
        )
    }
    if any(map(_ANALYZES.search, shown)):
        found.add("analyze")
    return tuple(act for act in _ACTS if act in found)
