"""Where Benchlab finds its configuration and keeps its state."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.bounded import read_text
from benchlab.errors import SpecError

if TYPE_CHECKING:
    from upath import UPath

ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}"
"""Pattern of the ids of campaigns and of published reports, which become names of directories."""

PROOF = "proof"
"""The file of :meth:`Home.proof`."""


@dataclass(frozen=True)
class Home:
    """Directories of one installation: ``find().reports / "c1"``.

    Attributes:
        project: the checkout: ``configs/``, ``dags/``.
        root: where state is kept: ``.benchlab`` in the checkout, or what ``BENCHLAB_HOME`` names.
    """

    project: Path
    root: Path

    @property
    def configs(self) -> Path:
        """What people write: report types, topologies, prices, releases, gates, notifiers."""
        return self.project / "configs"

    @property
    def notifications(self) -> Path:
        """Who is notified of what: :mod:`benchlab.report.notifications.notifiers` reads it."""
        return self.configs / "notifications.yaml"

    @property
    def releases(self) -> Path:
        """The release calendar: :mod:`benchlab.plan.releases` reads it."""
        return self.configs / "releases.csv"

    @property
    def prices(self) -> Path:
        """The list prices of rented hosts: :mod:`benchlab.plan.pricing` reads it."""
        return self.configs / "prices.csv"

    @property
    def budget(self) -> Path:
        """What all campaigns may cost: :mod:`benchlab.plan.fields.budget` reads it."""
        return self.configs / "budget.yaml"

    @property
    def servers(self) -> Path:
        """Directory of downloaded database servers."""
        return self.root / "servers"

    @property
    def builds(self) -> Path:
        """Kept builds, each in a directory named by the hash of its file."""
        return self.root / "builds"

    @property
    def clients(self) -> Path:
        """Clients built on this machine, each in a directory named by the hash of its archive."""
        return self.root / "clients"

    @property
    def reports(self) -> Path:
        """Published reports, a directory per campaign."""
        return self.root / "reports"

    def campaign(self, campaign: str) -> Path:
        """Working directory of a campaign: data, snapshots, jobs, progress."""
        return self.root / "campaigns" / campaign

    @property
    def store_url(self) -> str:
        """URL of the results store: ``BENCHLAB_STORE_URL``, else SQLite in the home.

        Raises:
            SpecError: as :func:`setting`.
        """
        return setting("BENCHLAB_STORE_URL") or f"sqlite:///{self.root}/results.db"

    @property
    def objects(self) -> UPath:
        """Root of raw output and series: ``BENCHLAB_OBJECTS`` (an fsspec URL), else in the home."""
        from upath import UPath

        return UPath(os.environ.get("BENCHLAB_OBJECTS") or self.root / "objects")

    @property
    def mark(self) -> str:
        """Eight random hexadecimal digits that identify this home; created on first use.

        They are part of campaign ids, and of the marks on what campaigns use elsewhere.

        Raises:
            SpecError: its file is damaged.
        """
        path = self.root / "mark"
        found = _made_once(path, secrets.token_hex(4)).strip()
        if not re.fullmatch("[0-9a-f]{8}", found):
            raise SpecError(
                f"{path} is damaged: write eight hexadecimal digits into it, the first eight of a "
                "`mark` in some campaigns/*/rental.json, or remove it if nothing is rented now"
            )
        return found

    def little_room(self) -> str:
        """What to do if its disk has less than 5 % or 5 GB left; empty if it has more."""
        disk = shutil.disk_usage(self.root)
        if disk.free >= max(disk.total / 20, 5e9):
            return ""
        return (
            f"{self.root}: less than 5 % or 5 GB of its disk are free: make room there; `benchlab "
            "prune --older-than 90d` shows what Benchlab need not keep"
        )

    def proof(self, campaign: str) -> str:
        """Random letters in a campaign's directory, created on first use.

        Who is told them can tell whether what it finds under this path is the same directory.
        """
        return _made_once(self.campaign(campaign) / PROOF, secrets.token_hex(8))

    def password(self, campaign: str) -> str:
        """The password of a campaign's accounts, created on first use; only its owner reads it."""
        return _made_once(self.campaign(campaign) / "password", secrets.token_hex(16))

    def known_passwords(self, campaign: str) -> list[str]:
        """The campaign's password as a list of one, or an empty list; creates none."""
        path = self.campaign(campaign) / "password"
        return [path.read_text(encoding="utf-8")] if path.exists() else []


def setting(name: str) -> str | None:
    """A setting of the environment, else what the file has that ``<name>_FILE`` names.

    The file is read each time: who changes a secret in it restarts nothing.

    Raises:
        SpecError: the file cannot be read; names both.
    """
    file = os.environ.get(f"{name}_FILE")
    if (value := os.environ.get(name)) or not file:
        return value or None
    try:
        return read_text(Path(file)).strip() or None
    except SpecError as error:
        raise SpecError(f"{name}_FILE: {error}") from error


def _made_once(path: Path, text: str) -> str:
    """Read a file that the first caller creates with ``text``; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # os.link is atomic and never overwrites: a second process reads what the first one wrote.
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
        part.unlink()
    return path.read_text(encoding="utf-8")


def find() -> Home:
    """The installation of this code, or what ``BENCHLAB_PROJECT`` and ``BENCHLAB_HOME`` name."""
    project = Path(os.environ.get("BENCHLAB_PROJECT") or Path(__file__).parents[2]).resolve()
    root = Path(os.environ.get("BENCHLAB_HOME") or project / ".benchlab").resolve()
    return Home(project, root)
