"""Room on the disks of a campaign: refused where there is none, named where it ran out.

Servers and clients seldom say it themselves: a client may end as if all were well, with too few
rows in its tables.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from benchlab.engines.database import LEAST_FREE
from benchlab.errors import BenchlabError, TargetError, UnreachableError
from benchlab.home import Home
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.hosts.fleet import try_on_all
from benchlab.language import Message, message
from benchlab.plan.steps import GIB
from benchlab.targets.target import Deployment

HERE = "this machine"


def refuse_full(home: Home, campaign: str) -> None:
    """Refuse to begin where neither the store nor a report could be written.

    Raises:
        TargetError: names the folder, and what is free in it.
    """
    if found := full({HERE: LocalExecutor(home.root, campaign)}):
        raise TargetError(*found)


def tell_full(error: BaseException, home: Home, campaign: str, deployment: Deployment) -> None:
    """Add to an error which disks are as good as full, a line for each; usually there are none.

    Example:
        ``sbtest1 holds 43249 rows after the load, expected 100000``, and below it
        ``tikv-2: 0.00 GiB are free in /data/benchlab/c1, ...``

    Args:
        deployment: whose hosts are asked, and this machine; what does not answer is left out.
    """
    if isinstance(error, UnreachableError) or not isinstance(error, BenchlabError | OSError):
        return
    here: dict[str, Executor] = {HERE: LocalExecutor(home.root, campaign)}
    hosts: dict[str, Executor] = {}
    with contextlib.suppress(BenchlabError):  # there are no hosts yet, or no more
        hosts.update(deployment.executors())
    local = any(isinstance(one, LocalExecutor) for one in hosts.values())
    if not local or _on_two_disks(home.root, home.campaign(campaign)):
        hosts = here | hosts
    said = {str(line) for line in error.args}
    lines = [line for line in full(hosts, deployment) if str(line) not in said]
    error.args = (*error.args, *lines)


def full(hosts: Mapping[str, Executor], deployment: Deployment | None = None) -> list[Message]:
    """A sentence for each host whose disk has less free than what works there needs."""
    found, _ = try_on_all(hosts, lambda executor: executor.space())
    sentences = []
    for host, space in found.items():
        needed = LEAST_FREE
        if deployment is not None and host != HERE:
            with contextlib.suppress(BenchlabError):  # there are no servers yet, or no more
                engines = [deployment.engine(side) for side in deployment.sides]
                needed = max(engine.least_free(host, space.size) for engine in engines)
        if space.free < needed:
            amounts = {"free": f"{space.free / GIB:.2f}", "needed": f"{needed / GIB:.2f}"}
            sentences.append(message("disk-full", host=host, path=space.path, **amounts))
    return sentences


def _on_two_disks(folder: Path, another: Path) -> bool:
    try:
        return folder.stat().st_dev != another.stat().st_dev
    except OSError:
        return True
