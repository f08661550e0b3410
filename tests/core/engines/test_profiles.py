"""How servers are profiled: which can be, by which command, and what perf's output becomes."""

from __future__ import annotations

import base64
import gzip
import subprocess
from pathlib import Path

import pytest

from benchlab.engines import perf
from benchlab.engines.tidb import profiles
from benchlab.engines.tidb.topology import Component
from benchlab.hosts.executor import LocalExecutor
from benchlab.results.diagnosis import Kind
from benchlab.results.pprof import parse
from tests.builders.pprof_server import pprof_server
from tests.builders.profiles import RECORDED

# As `perf script -F comm,ip,sym,dso` (6.1) printed it of MariaDB 10.11.5, shortened; with a
# function of an anonymous namespace and an operator.
SCRIPT = """mariadbd
\tffffffff8113f0e7 finish_task_switch.isra.0 ([kernel.kallsyms])
\tffffffff81c01130 entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])
\t    7f12a1b2f0a3 [unknown] (/usr/lib/x86_64-linux-gnu/libaio.so.1.0.1)
\t    55d1c2a3b4c5 row_search_mvcc(unsigned char*, page_cur_mode_t, row_prebuilt_t*) (/srv/mariadbd)
\t    55d1c2a3b4c6 (anonymous namespace)::walk(int)::{lambda()#1}::operator()(int) const (/srv/mariadbd)

mariadbd
\tffffffff8113f0e7 finish_task_switch.isra.0 ([kernel.kallsyms])
\tffffffff81c01130 entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])
\t    7f12a1b2f0a3 [unknown] (/usr/lib/x86_64-linux-gnu/libaio.so.1.0.1)
\t    55d1c2a3b4c5 row_search_mvcc(unsigned char*, dict_index_t*) (/srv/mariadbd)
\t    55d1c2a3b4c6 (anonymous namespace)::walk(int)::{lambda()#1}::operator()(int) const (/srv/mariadbd)

mariadbd
\t    55d1c2a3b4c7 buf_page_get_gen+0x1f (/srv/mariadbd (deleted))

"""  # noqa: E501


@pytest.mark.parametrize(
    ("kind", "component", "path", "recorded"),
    [
        ("cpu", "tidb", "", "tidb_cpu.pb.gz"),
        ("cpu", "tikv", "/tikv", "tikv_cpu.pb"),
        ("allocations", "tidb", "", "pd_allocs.pb.gz"),
        ("allocations", "pd", "", "pd_allocs.pb.gz"),
    ],
)
def test_a_profile_comes_through_the_shell_as_the_server_sent_it(
    kind: Kind, component: Component, path: str, recorded: str
) -> None:
    """TiKV sends it only if the request asks for that type; else it is a picture."""
    with pprof_server() as address:
        command = profiles.command(kind, component, f"{address}{path}", 1)
        printed = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout
    assert base64.b64decode(printed) == (RECORDED / recorded).read_bytes()


def test_a_server_that_refuses_says_so() -> None:
    """As PD does while somebody else profiles it."""
    with pprof_server() as address:
        command = profiles.command("cpu", "pd", address, 1)
        printed = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout
    assert base64.b64decode(printed).startswith(b"curl: (22) The requested URL returned error: 500")


@pytest.mark.parametrize("version", ["v5.4.3", "v6.0.0"])
def test_a_tikv_that_may_crash_is_not_profiled(version: str) -> None:
    """It walks stacks by DWARF in a signal's handler; TiDB and PD of the same version do not."""
    said = str(profiles.lacking("cpu", "tikv", version))
    assert said == f"TiKV {version} may crash while its CPU is profiled; from v6.1.0 on it does not"
    assert profiles.lacking("cpu", "tidb", version) is None


@pytest.mark.parametrize("version", ["v6.1.0", "v8.5.3", "v9.0.0-beta.2.pre-nightly"])
def test_a_newer_tikv_is_profiled(version: str) -> None:
    """By frame pointers; its allocations are not, in any version."""
    assert profiles.lacking("cpu", "tikv", version) is None
    assert profiles.lacking("allocations", "tikv", version) is not None


def test_what_perf_saw_becomes_folded_stacks(tmp_path: Path) -> None:
    """Without arguments, which differ between versions; what has no name is known by its file."""
    program = perf.command("server-baseline", 1).partition("awk -v ")[2].partition(" | sort")[0]
    folded = subprocess.run(
        ["sh", "-c", f"awk -v {program}"], input=SCRIPT, capture_output=True, text=True, check=True
    ).stdout
    assert sorted(folded.splitlines()) == [
        "buf_page_get_gen 1",
        ";".join(
            [
                "{anonymous}::walk",
                "row_search_mvcc",
                "[no name, in libaio.so.1.0.1]",
                "entry_SYSCALL_64_after_hwframe",
                "finish_task_switch.isra.0 2",
            ]
        ),
    ]
    profile = parse("server.folded.gz", gzip.compress(folded.encode(), mtime=0))
    assert sum(count for (count,) in profile.stacks.values()) == 3


def test_without_perf_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never installed by Benchlab."""
    monkeypatch.setenv("PATH", str(tmp_path))
    said = str(perf.fault(LocalExecutor(tmp_path, "c1")))
    assert said == "perf cannot record here: it does not exist"
