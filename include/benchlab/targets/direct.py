"""No load balancer: the client connects to a side's only server (``load_balancer: none``).

It stands where :class:`~benchlab.targets.haproxy.HAProxy` would, so that a trial is the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.targets.haproxy import Backend


@dataclass(frozen=True)
class Direct:
    """One server, whose own readiness is waited for by its engine.

    Attributes:
        host, entry_port: where the server listens.
    """

    host: str
    entry_port: int

    def beside(self) -> Direct:
        """The same: each side's server has its own address where both are loaded at once."""
        return self

    def configure(self) -> None:
        """Nothing is to be configured."""

    def start(self) -> None:
        """Nothing is to be started."""

    def stop(self) -> None:
        """Nothing is to be stopped."""

    def statistics(self) -> Sequence[Backend]:
        """No backends, so that gates on them are not evaluated."""
        return ()
