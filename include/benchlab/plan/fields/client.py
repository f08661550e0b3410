"""The client: which program runs the workloads, and how it is called."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
from pydantic import Field

from benchlab.plan.documents import ConnectionName, Frozen, Scalar

# As sysbench's help writes it, without the dashes.
OptionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
# sysbench's distribution, if none is chosen: its default differs from release to release.
RAND_TYPE = "uniform"


class Script(Frozen):
    """A Lua script of the user's own, which sysbench runs.

    Attributes:
        path: of the file on this machine, absolute or below the checkout.
        sha256: of its content, which a campaign records: a changed script is another workload.
    """

    path: Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*\.lua$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class Client(Frozen):
    """How the client is called, beyond workload, threads and time.

    Attributes:
        connection: the Airflow Connection of type ``ssh`` to the client's host, where servers exist
            already; None: the target's own client, there this machine.
        program: the program that runs the workloads; None: the first suitable one on the client's
            host.
        version: what that program has to report as its version; None: any.
        path: of that program on the client's host; None: the one on the PATH.
        archive: the source archive from which sysbench is built there; a path on this machine,
            absolute or below the checkout.
        sha256: of the archive.
        report_interval: seconds between the values of a series.
        auto_inc: whether the server assigns the ids of the rows that ``oltp_insert`` writes.
        rand_type: sysbench's distribution of the rows that a run accesses, and of the indexed
            column when it is loaded; None: :data:`RAND_TYPE`.
        options: further options of sysbench, by name.
        script: what the workloads ``lua_reads`` and ``lua_writes`` run.
    """

    connection: ConnectionName | None = None
    program: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")] | None = None
    version: Annotated[str, Field(pattern=r"^v?[0-9][0-9A-Za-z.+-]*$")] | None = None
    path: Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f]*$")] | None = None
    archive: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$")] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    report_interval: Annotated[int, Field(ge=1, le=60)] = 1
    auto_inc: bool = True
    rand_type: Annotated[str, Field(pattern=r"^[a-z]+$")] | None = None
    options: dict[OptionName, Scalar] = Field(default={})
    script: Script | None = None

    @pydantic.model_serializer(mode="wrap")
    def _chosen(self, dump: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not chosen."""
        written: dict[str, Any] = dump(self)
        always = ("program", "report_interval", "auto_inc")
        return {key: value for key, value in written.items() if value or key in always}

    @property
    def choices(self) -> dict[str, Any]:
        """The chosen distribution, options and script of sysbench; empty if none are chosen."""
        chosen: dict[str, Any] = {"rand_type": self.rand_type, **self.options}
        chosen["script"] = self.script and self.script.sha256
        return {name: value for name, value in chosen.items() if value is not None}
