r"""What a MariaDB server counts of its work: its global status, and what the kernel says of it.

Names and meanings: MariaDB's manual, *Server Status Variables*; proc(5) for the process. What a
release lacks is missing: 10.11 has no ``Innodb_rows_read``, and its
``Innodb_buffer_pool_read_requests`` stands still.

Example:
    ``read("Handler_read_key\t12\n")`` is ``{"Handler_read_key": 12.0}``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from benchlab.engines.counts import Count, Counters

ROLE = "mariadb"
# Statements of clients: ``Com_insert`` and its like also count what a trigger does for one of them.
QUERIES = Count("queries", ROLE, ("client_statements",))
# What a reading adds to ``Questions``: SHOW STATUS, and the end of its connection.
_OF_READING = 2
_CPU = ("process_user_s", "process_system_s")
_REDO = ("Innodb_os_log_written",)  # in whole blocks of the commits that are written together
COUNTS = (
    # Also of the status table itself, some hundred rows each time that it is read, which the fewer
    # queries share; so are what is sent and received.
    Count(
        "handler_reads",
        ROLE,
        tuple(
            f"Handler_read_{how}"
            for how in ("first", "key", "last", "next", "prev", "rnd", "rnd_next")
        ),
        of_load=True,
    ),
    Count("rows_read", ROLE, ("Rows_read|Innodb_rows_read",)),
    Count("rows_written", ROLE, ("Handler_write", "Handler_update", "Handler_delete")),
    Count("handler_commits", ROLE, ("Handler_commit",)),
    Count("server_cpu", ROLE, _CPU, "us", 1e6, of_load=True, side_sd=0.01),
    *(
        Count(f"server_cpu_{of}", ROLE, (f"process_{of}_s",), "us", 1e6, of_load=True, side_sd=0.01)
        for of in ("user", "system")
    ),
    Count("minor_faults", ROLE, ("process_minor_faults",)),
    Count("major_faults", ROLE, ("process_major_faults",)),
    Count(
        "context_switches",
        ROLE,
        ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"),
        of_load=True,
        side_sd=0.01,
    ),
    Count("disk_read_bytes", ROLE, ("read_bytes",), "B", background=True),
    Count("disk_written_bytes", ROLE, ("write_bytes",), "B", background=True),
    # Group commit pads and shares log blocks: it varies by some per cent, and so may deployments.
    Count("redo_bytes", ROLE, _REDO, "B", of_load=True, side_sd=0.01, floor=1.0),
    Count("redo_writes", ROLE, ("Innodb_log_writes",), of_load=True, side_sd=0.01),
    Count("redo_requests", ROLE, ("Innodb_log_write_requests",)),
    Count("fsyncs", ROLE, ("Innodb_data_fsyncs",), background=True),
    Count("data_written_bytes", ROLE, ("Innodb_data_written",), "B", background=True),
    Count("page_requests", ROLE, ("Innodb_buffer_pool_read_requests",), stands_still=True),
    Count("page_reads", ROLE, ("Innodb_buffer_pool_reads",)),
    Count("pages_written", ROLE, ("Innodb_buffer_pool_pages_flushed",), background=True),
    Count("rows_sent", ROLE, ("Rows_sent",), of_load=True),
    Count("sorted_rows", ROLE, ("Sort_rows",)),
    Count("temporary_tables", ROLE, ("Created_tmp_tables",)),
    Count("temporary_disk_tables", ROLE, ("Created_tmp_disk_tables",)),
    Count("full_scans", ROLE, ("Select_scan",)),
    Count("row_lock_waits", ROLE, ("Innodb_row_lock_waits",)),
    Count("bytes_received", ROLE, ("Bytes_received",), "B", of_load=True),
    Count("bytes_sent", ROLE, ("Bytes_sent",), "B", of_load=True),
)
# The fields of /proc/<pid>/stat by their numbers there; times are in ticks.
_STAT = re.compile(r"\d+ \(.*\) [A-Z] (-?\d+(?: -?\d+)*)")
_MINOR, _MAJOR, _USER, _SYSTEM, _FIRST = 10, 12, 14, 15, 4
_PAIR = re.compile(r"(\w+)(?:\t|:\s+)(\d+(?:\.\d+)?)")


def command(client: Sequence[str], job: str) -> str:
    """The shell's command line that prints all counters of a server.

    Args:
        client: the ``mariadb`` client with its options.
        job: that of the server, beside the one in whose directory this runs.
    """
    status = shlex.join([*client, "--execute=SHOW GLOBAL STATUS"])
    return (
        f'pid=$(cat ../{shlex.quote(job)}/pid); {status}; echo "ticks: $(getconf CLK_TCK)"; '
        'cat "/proc/$pid/stat" "/proc/$pid/io"; '
        'grep -h ctxt_switches "/proc/$pid/task/"*/status'
    )


def read(answer: str) -> Counters:
    """The counters in what :func:`command` printed; those of threads are added up."""
    found: dict[str, float] = {}
    stat: list[str] = []
    for line in answer.splitlines():
        if match := _STAT.fullmatch(line):
            stat = match[1].split()
        elif match := _PAIR.fullmatch(line):
            name, value = match[1], float(match[2])
            found[name] = found.get(name, 0.0) + value if "ctxt_switches" in name else value
    if (asked := found.get("Questions")) is not None:
        found["client_statements"] = asked - _OF_READING * found.get("Com_show_status", 0.0)
    ticks = found.pop("ticks", 0.0)
    if ticks and len(stat) > _SYSTEM - _FIRST:
        field = {at: float(stat[at - _FIRST]) for at in (_MINOR, _MAJOR, _USER, _SYSTEM)}
        found |= {
            "process_minor_faults": field[_MINOR],
            "process_major_faults": field[_MAJOR],
            "process_user_s": field[_USER] / ticks,
            "process_system_s": field[_SYSTEM] / ticks,
        }
    return found
