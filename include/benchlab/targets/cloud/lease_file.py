"""``cluster.json`` in a campaign's directory: the cluster that it made, or was about to make.

It exists from before the first request until the cluster is gone, so that a crash at any moment
leaves a name by which the cluster is found.
"""

from __future__ import annotations

from pathlib import Path

import pydantic

from benchlab.errors import TargetError
from benchlab.plan.documents import Frozen
from benchlab.targets import fleet_files
from benchlab.targets.ec2.rental_file import RentalFile

FILE = fleet_files.CLUSTER_FILE


class LeaseFile(Frozen):
    """The content of a campaign's ``cluster.json``.

    Attributes:
        name: the cluster's display name.
        project: id of its project; None: the default one.
        rental: since when it costs how much.
        host, port: where the client connects; empty until the cluster is active.
    """

    name: str
    project: str | None
    rental: RentalFile
    host: str = ""
    port: int = 0


def read(state: Path) -> LeaseFile | None:
    """A campaign's file; None if it has none.

    Raises:
        TargetError: it is damaged, so that it is not known what was made.
    """
    path = state / FILE
    try:
        return LeaseFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, pydantic.ValidationError) as error:
        raise TargetError(
            f"{path}: cannot be read, so it is not known which cluster is the campaign's; delete "
            "the cluster in TiDB Cloud's console, or wait until `benchlab reap` deletes it "
            "after its expiry; then remove this file"
        ) from error


def write(state: Path, lease: LeaseFile) -> None:
    """Write a campaign's file atomically, in place of an earlier one."""
    state.mkdir(parents=True, exist_ok=True)
    fleet_files.write(state / FILE, lease.model_dump_json(indent=1))
