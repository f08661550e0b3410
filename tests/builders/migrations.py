"""Stores that Alembic makes, and a second revision that this Benchlab does not have."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from benchlab.results import revisions

SECOND = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade():
    with op.batch_alter_table("campaigns") as campaigns:
        campaigns.add_column(sa.Column("mood", sa.String(20), server_default="calm"))
        campaigns.alter_column(
            "origin", existing_type=sa.String(255), type_=sa.String(400), existing_nullable=False
        )
"""


def from_nothing(connection: sa.Connection) -> None:
    """Make a store by all revisions, one after the other."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(revisions.FOLDER))
    command.upgrade(config, "head")


def tables(engine: sa.Engine) -> dict[str, Any]:
    """All that a database says of its tables."""
    found = sa.inspect(engine)
    return {
        name: (
            {column["name"]: str(column) for column in found.get_columns(name)},
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(map(str, found.get_foreign_keys(name))),
            sorted(map(str, found.get_indexes(name))),
        )
        for name in found.get_table_names()
    }


def let_there_be_a_second(
    monkeypatch: pytest.MonkeyPatch, path: Path, revision: str = SECOND
) -> None:
    """Let this Benchlab have a second revision; a copy of all of them is below a path."""
    folder = path / "100% migrations"
    shutil.copytree(revisions.FOLDER, folder)
    (folder / "versions" / "revision_0002.py").write_text(revision, encoding="utf-8")
    monkeypatch.setattr(revisions, "FOLDER", folder)
