"""What leads to the reports in a bucket: the index, a page for each campaign, and their entries.

The next Benchlab that publishes reads an entry, whatever its version. So it is checked like
anything from outside: every link is made from names that were checked, and all text is escaped. The
pages load nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Self

import jinja2
import pydantic
from pydantic import BaseModel, ConfigDict, Field

from benchlab.errors import PublishError
from benchlab.home import ID
from benchlab.language import templates
from benchlab.plan import documents
from benchlab.plan.documents import Name
from benchlab.report.publish.publisher import DIGEST_LENGTH, Publication

# No report type begins with `_`.
ENTRIES = "_entries"

_Page = Annotated[str, Field(pattern=r"^([A-Za-z0-9_-]+/)?[A-Za-z0-9_-]+\.html$")]


class Entry(BaseModel):
    """What the index says about one campaign; the other attributes are those of a Publication.

    Attributes:
        edition: the latest.
    """

    # Later releases may have added fields.
    model_config = ConfigDict(frozen=True, extra="ignore")

    campaign: Annotated[str, Field(pattern=f"^{ID}$")]
    report: Name
    edition: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{DIGEST_LENGTH}}}$")]
    title: str
    versions: tuple[str, ...]
    started_at: pydantic.AwareDatetime
    state: str
    aa: bool
    verdicts: dict[str, str]
    pages: Annotated[dict[str, _Page], Field(min_length=1)]

    @classmethod
    def from_publication(cls, publication: Publication) -> Self:
        """The entry of a publication.

        Raises:
            PublishError: a field has a value that an index cannot have; names the fields.
        """
        try:
            return cls.model_validate(publication, from_attributes=True)
        except pydantic.ValidationError as error:
            faults = "; ".join(documents.faults(error))
            raise PublishError(
                f"{publication.campaign}: no index can name this report: {faults}"
            ) from error

    def to_json(self) -> bytes:
        """The entry as it is kept; the same entry gives the same bytes."""
        return self.model_dump_json(indent=1).encode() + b"\n"

    @property
    def folder(self) -> str:
        """Where its editions are, relative to the index."""
        return f"{self.report}/{self.campaign}"


def index(lines: Mapping[str, bytes]) -> bytes:
    """The page that lists all campaigns, the latest first.

    Args:
        lines: the entries as they are kept, by key; those that cannot be read are named.
    """
    entries, unreadable = [], []
    for key, content in sorted(lines.items()):
        try:
            entries.append(Entry.model_validate_json(content))
        except pydantic.ValidationError:
            unreadable.append(key)
    entries.sort(key=lambda entry: (entry.started_at, entry.folder), reverse=True)
    return _rendered("index.html.j2", entries=entries, unreadable=unreadable)


def campaign(entry: Entry, earlier: Mapping[str, datetime]) -> bytes:
    """The page of one campaign: its latest edition, and the earlier ones.

    Args:
        entry: of the latest edition.
        earlier: when each other edition was published.
    """
    return _rendered("campaign.html.j2", entry=entry, earlier=earlier)


def _rendered(template: str, **values: object) -> bytes:
    return _environment().get_template(template).render(**values).encode()


@cache
def _environment() -> jinja2.Environment:
    environment = templates.environment("benchlab.report.publish.s3")
    environment.filters["in_utc"] = lambda when: when.astimezone(UTC)
    return environment
