"""The load balancer, HAProxy with its settings or none; and the ports of a campaign.

Only what HAProxy 2.6 accepts can be written: ``nbproc`` and ``bind-process`` are gone since 2.5.
It always listens on loopback at ``ports.entry``, and gives each server a connection in turn
(``balance roundrobin``), which a gate checks. It is not started by root, so user, group and chroot
cannot be set.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import pydantic
from pydantic import AfterValidator, Field, Tag

from benchlab.plan.documents import MAPPING, WORD, WORD_OR_MAPPING, Frozen

MAX_THREADS = 64
# HAProxy's times are whole numbers of milliseconds in 31 bits.
_LONGEST_MS = 2**31 - 1
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _time(text: str) -> str:
    """A time as HAProxy takes it; pydantic adds the field to the message.

    Raises:
        ValueError: HAProxy would refuse it.
    """
    number = text.rstrip("dhms")
    if int(number) * _UNITS_MS[text.removeprefix(number)] > _LONGEST_MS:
        raise ValueError(f"{text} is more than HAProxy's maximum of {_LONGEST_MS} ms (24 days)")
    return text


Time = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,9}(ms|s|m|h|d)$"), AfterValidator(_time)]


class Timeouts(Frozen):
    """How long HAProxy waits for a connection, and for a silent client or server."""

    connect: Time = "5s"
    client: Time = "1h"
    server: Time = "1h"


class Check(Frozen):
    """How HAProxy checks a server.

    Attributes:
        inter: milliseconds between two checks; Benchlab waits for HAProxy half a minute at most.
        rise: how many checks have to succeed before a server is used again.
        fall: how many checks have to fail before a server is no longer used.
    """

    inter: Annotated[int, Field(ge=1, le=10_000)] = 200
    rise: Annotated[int, Field(ge=1, le=100)] = 1
    fall: Annotated[int, Field(ge=1, le=100)] = 2


class HAProxySettings(Frozen):
    """How HAProxy is configured.

    Attributes:
        maxconn: the most connections; None: a hundred more than the most client threads.
        nbthread: HAProxy's threads; None: a number that treats all connections alike.
        retries: how often it retries a connection to a server; None: HAProxy's default, 3.
    """

    maxconn: Annotated[int, Field(ge=1, le=100_000)] | None = None
    nbthread: Annotated[int, Field(ge=1, le=MAX_THREADS)] | None = None
    retries: Annotated[int, Field(ge=0, le=1000)] | None = None
    timeouts: Timeouts = Timeouts()
    check: Check = Check()

    def directives(self) -> tuple[str, ...]:
        """What was chosen, in HAProxy's words: ``("maxconn 4000", "retries 2", ...)``."""
        numbers = {"maxconn": self.maxconn, "nbthread": self.nbthread, "retries": self.retries}
        check = self.check
        return (
            *(f"{name} {number}" for name, number in numbers.items() if number is not None),
            *(f"timeout {name} {time}" for name, time in self.timeouts.model_dump().items()),
            f"check inter {check.inter}ms rise {check.rise} fall {check.fall}",
        )


LoadBalancer = Annotated[
    Annotated[Literal["haproxy", "none"], Tag(WORD)] | Annotated[HAProxySettings, Tag(MAPPING)],
    WORD_OR_MAPPING,
]


Port = Annotated[int, Field(ge=1024, le=65535)]


class Ports(Frozen):
    """The ports of the load balancer, and of the servers of a ``local`` target.

    ``entry`` is the load balancer's port, the only one that the client gets; ``stats`` serves its
    statistics. On one machine the running side's server has ``server``, and TiDB's HTTP status
    ``status``; all listen on loopback.
    """

    entry: Port = 13390
    stats: Port = 13391
    server: Port = 13410
    status: Port = 13430

    @pydantic.model_validator(mode="after")
    def _distinct(self) -> Self:
        used = list(self.model_dump().values())
        if len(set(used)) != len(used):
            raise ValueError("all ports must differ")
        return self
