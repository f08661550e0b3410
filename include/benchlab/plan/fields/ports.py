"""The ports on which a campaign's servers and its load balancer listen."""

from __future__ import annotations

from typing import Annotated, Self

import pydantic
from pydantic import Field

from benchlab.plan.documents import Frozen

Port = Annotated[int, Field(ge=1024, le=65535)]


class Ports(Frozen):
    """Where things listen: the load balancer, and the servers of a ``local`` target.

    ``entry`` is the load balancer's port, the only one the client is given; ``stats`` serves its
    statistics. On one machine the server of the side that runs has ``server``, and ``status`` is
    TiDB's HTTP status; all listen on loopback.
    """

    entry: Port = 13390
    stats: Port = 13391
    server: Port = 13410
    status: Port = 13430

    @pydantic.model_validator(mode="after")
    def _distinct(self) -> Self:
        used = list(self.model_dump().values())
        if len(set(used)) != len(used):
            raise ValueError("each port must be another one")
        return self
