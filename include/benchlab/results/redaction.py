"""Secrets, taken out of reports and evidence.

Servers report their effective variables, a few of which are secrets: an account for replication, a
key. They are recognized by their names, and a password within an address by its place. Two values
that differ stay different, so that what depends on it comes out as it did.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from benchlab.results.records import Campaign

_SECRET = re.compile(
    r"(^|[_.\-\s])(password|passwd|passphrase|pwd|secret|secret[_-]?key|access[_-]?key|api[_-]?key"
    r"|master[_-]?key|credentials?|sst_auth|token|filekey)$",
    re.IGNORECASE,
)
# Switches, numbers and words of policies are no secrets, whatever they are named.
_HARMLESS = re.compile(
    r"(on|off|yes|no|true|false|none|null|[0-9.]*|\(redacted [0-9]+\))", re.IGNORECASE
)
_SHORTEST = 6
_ADDRESS = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)(?=@)")


class Redacted:
    """Documents without their secrets.

    Attributes:
        places: where one was replaced, as ``campaign.json: facts.baseline.variables.wsrep_auth``.
        secrets: the values, by which it can be seen that nothing else has them.
    """

    def __init__(self) -> None:
        self.places: list[str] = []
        self.secrets: dict[str, int] = {}

    def document(self, name: str, value: Any, at: tuple[str, ...] = ()) -> Any:
        """A JSON document of this file name without its secrets; ``at`` is the place of a part."""
        if isinstance(value, dict):
            return {key: self.document(name, part, (*at, str(key))) for key, part in value.items()}
        if isinstance(value, list):
            return [self.document(name, part, (*at, str(i))) for i, part in enumerate(value)]
        if not isinstance(value, str):
            return value
        if at and _SECRET.search(at[-1]) and not _HARMLESS.fullmatch(value):
            self.places.append(f"{name}: {'.'.join(at)}")
            return self._mark(value)
        clean = _ADDRESS.sub(lambda match: f"{match[1]}:{self._mark(match[2])}", value)
        if clean != value:
            self.places.append(f"{name}: {'.'.join(at)}")
        return clean

    def _mark(self, secret: str) -> str:
        number = self.secrets.setdefault(secret, len(self.secrets) + 1)
        return f"(redacted {number})"


def of_campaign(campaign: Campaign) -> Campaign:
    """A campaign without its secrets; one without any, or without them already, is as it was."""
    found = Redacted()
    document = found.document(
        "campaign", _adapter().dump_python(campaign, mode="json", by_alias=True)
    )
    return _adapter().validate_python(document) if found.places else campaign


@cache
def _adapter() -> TypeAdapter[Campaign]:
    return TypeAdapter(Campaign)


def leaks(content: bytes, secrets: Iterable[str]) -> bool:
    """Whether a file has one of these in it, in whatever way its format writes it.

    What is shorter than six letters is in any file by chance.
    """
    plain = content.replace(b"\\", b"")  # as Markdown and JSON escape
    return any(
        form.replace("\\", "").encode() in text
        for secret in secrets
        if len(secret) >= _SHORTEST
        for form in (secret, html.escape(secret), html.escape(secret).replace("&quot;", "&#34;"))
        for text in (content, plain)
    )
