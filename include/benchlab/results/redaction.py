"""Removes secrets from reports and evidence.

Servers report their effective variables, some of which are secrets: a replication account, a key.
They are recognized by their names, and a password in a URL by its position. Different secrets stay
different, so that comparing the sides still gives the same result.

Example:
    ``of_campaign(store.campaign("c1"))`` has ``(redacted 1)`` in place of its first secret.
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
# Switches and numbers are not secrets, whatever their names.
_HARMLESS = re.compile(
    r"(on|off|yes|no|true|false|none|null|[0-9.]*|\(redacted [0-9]+\))", re.IGNORECASE
)
_SHORTEST = 6
_ADDRESS = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)(?=@)")


class Redacted:
    """Replaces secrets in documents with numbers, the same secret with the same number.

    Example:
        ``Redacted().document("a.json", document)`` has ``(redacted 1)`` for the password in the
        URL of a store.

    Attributes:
        places: of each replacement: ``campaign.json: facts.baseline.variables.wsrep_sst_auth``.
        secrets: the number that replaces each secret; :func:`leaks` looks for them in files.
    """

    def __init__(self) -> None:
        self.places: list[str] = []
        self.secrets: dict[str, int] = {}

    def document(self, name: str, value: Any, at: tuple[str, ...] = ()) -> Any:
        """A JSON value without its secrets; ``name`` is its file, ``at`` its path in that file."""
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


def line(text: str, secrets: Iterable[str]) -> str:
    """A line of a log without these secrets and without passwords in URLs.

    Example:
        ``line("IDENTIFIED BY 'abc'", ["abc"])`` is ``IDENTIFIED BY '(redacted)'``.
    """
    for secret in filter(None, secrets):
        text = text.replace(secret, "(redacted)")
    return _ADDRESS.sub(r"\1:(redacted)", text)


def of_campaign(campaign: Campaign) -> Campaign:
    """A copy of a campaign without its secrets; the same object if it has none."""
    found = Redacted()
    document = found.document(
        "campaign", _adapter().dump_python(campaign, mode="json", by_alias=True)
    )
    return _adapter().validate_python(document) if found.places else campaign


@cache
def _adapter() -> TypeAdapter[Campaign]:
    return TypeAdapter(Campaign)


def leaks(content: bytes, secrets: Iterable[str]) -> bool:
    """Whether a file contains one of these secrets, plain or escaped as in HTML, JSON or Markdown.

    Secrets of fewer than six characters are ignored: any file may contain them by chance.
    """
    plain = content.replace(b"\\", b"")  # Markdown and JSON escape with these
    return any(
        form.replace("\\", "").encode() in text
        for secret in secrets
        if len(secret) >= _SHORTEST
        for form in (secret, html.escape(secret), html.escape(secret).replace("&quot;", "&#34;"))
        for text in (content, plain)
    )
