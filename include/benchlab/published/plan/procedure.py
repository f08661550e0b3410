"""What a plan does with the data beside measuring: statistics, a backup, restores.

It is recorded where a sentence of the plan, or SQL shown in it, says that it is done. A clause with
a negation before it says nothing: "the data is not restored", "没有备份".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from benchlab.published.reading.model import Act, StatedStep
from benchlab.published.reading.wording import FLAGS, sentences

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
_ANALYZES = re.compile(r"^\s*analyze\s+table\s+\S", FLAGS | re.MULTILINE)


def acts(steps: Sequence[StatedStep], shown: Iterable[str]) -> tuple[Act, ...]:
    """What is done, each once, in the order of a run.

    Args:
        steps: prose of the plan.
        shown: code blocks of the plan.
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
