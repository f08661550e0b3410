"""Which program makes the load: the first that is installed, or the one that is named."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchlab.errors import CommandError, TargetError, UnavailableError
from benchlab.plan.fields.client import Client
from benchlab.workloads import by_name, program, tpcc
from benchlab.workloads.client import Endpoint, Session, program_of
from benchlab.workloads.tpcc import Warehouses
from tests.builders import fakes

SYSBENCH, TPCC = by_name()["oltp_read_write"], by_name()["tpcc"]
BENCH = "/tiup/components/bench/v1.12.0/go-tpc"
SAID = {
    "go-tpc": "Git Commit Hash: 4f1a\nRelease version: v1.0.12\n",
    "sysbench": "sysbench 1.0.20\n",
}


def host(*there: str, code: int = 127) -> fakes.FakeExecutor:
    """A host that has these programs; others exit with ``code``."""

    def answer(command: Sequence[str], stdin: str) -> str:
        name = "tiup" if command[0] == "sh" else command[0]
        if name not in there:
            said = "" if name == "tiup" else "no such program"  # as the script is silent there
            raise CommandError("client-1", " ".join(command), code, said)
        return f"{BENCH}\n" if command[0] == "sh" else SAID[command[0]]

    return fakes.FakeExecutor(answer)


@pytest.mark.parametrize(
    ("there", "name", "called", "path"),
    [
        (("tiup", "go-tpc", "sysbench"), "tiup", "tiup bench v1.12.0", BENCH),
        (("go-tpc", "sysbench"), "go-tpc", "go-tpc v1.0.12", None),
        (("sysbench",), "embedded", "Benchlab's tpcc.lua on sysbench 1.0.20", None),
    ],
)
def test_the_first_program_that_is_installed_is_used(
    there: tuple[str, ...], name: str, called: str, path: str | None
) -> None:
    """PingCAP's client comes first; the report names the program and its version."""
    chosen, facts = program.choose(host(*there), TPCC, None)
    assert (chosen.name, facts["client_version"]) == (name, called)
    assert facts.get("client_path") == path


def test_a_named_program_is_used_even_if_another_comes_first() -> None:
    """A report type names its client if its figures are to be compared with published ones."""
    chosen, _ = program.choose(host("tiup", "go-tpc", "sysbench"), TPCC, "embedded")
    assert chosen.name == "embedded"


def test_a_named_program_that_is_missing_is_not_replaced() -> None:
    """The error names the program and the host."""
    with pytest.raises(
        UnavailableError, match=r"client\.program: on fake there is no go-tpc to run"
    ):
        program.choose(host("tiup", "sysbench"), TPCC, "go-tpc")


def test_if_none_is_installed_all_are_named() -> None:
    """An operator sees what could be installed."""
    with pytest.raises(UnavailableError, match="no tiup and no go-tpc and no embedded"):
        program.choose(host(), TPCC, None)


def test_a_broken_client_is_not_replaced() -> None:
    """Else, while a mirror is down, another client would be measured unnoticed."""
    with pytest.raises(UnavailableError, match=r"tiup is on fake and cannot be used; fix it or"):
        program.choose(host("go-tpc", "sysbench", code=1), TPCC, None)


def test_sysbench_workloads_have_only_sysbench() -> None:
    """There is nothing to choose."""
    _, facts = program.choose(host("sysbench"), SYSBENCH, None)
    assert facts == {"client_program": "sysbench", "client_version": "sysbench 1.0.20"}


def test_the_client_s_files_are_put_on_its_host() -> None:
    """The script is beside the option file, where the command expects it."""
    executor = host("sysbench")
    facts = program.install(executor, Path("/c1"), TPCC, Client(), measured_with=None)
    assert facts["client_program"] == "embedded"
    assert executor.files[Path("/c1/tpcc.lua")] == tpcc.SCRIPT.read_text()


def test_a_campaign_is_not_resumed_with_another_client() -> None:
    """Its figures would not be comparable."""
    with pytest.raises(
        TargetError, match=r"embedded would be used now, but tiup has measured trials"
    ):
        program.install(host("sysbench"), Path("/c1"), TPCC, Client(), measured_with="tiup")


def test_tiup_s_component_is_started_by_its_path() -> None:
    """The title is the one in published reports."""
    client = Client(program="tiup")
    endpoint = Endpoint("127.0.0.1", 3390, "bench_open", "", "tpcc")
    size = Warehouses(warehouses=2)
    shown = tpcc.prepare_command(Session(endpoint, "c", size, 1, client))
    started = program_of("tiup", tpcc.PROGRAMS).started(shown, BENCH)
    assert shown[:3] == ["tiup", "bench", "tpcc"]
    assert started == [BENCH, *shown[2:]]


def located(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a host's shell prints for TiUP's client, of a version if one is wanted."""
    script = program_of("tiup", tpcc.PROGRAMS).locate
    assert script is not None
    return subprocess.run(
        ["sh", "-c", script, "sh", *(arguments or [""])],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def install_tiup(
    home: Path, help_code: int = 0, *, installed: bool = True, mirror: str = "bench"
) -> Path:
    """Install TiUP outside the PATH, as its installer does; returns its component's folder.

    Its mirror has v1.13.0 as well, which it downloads when it is started, if it has ``bench``; the
    empty one does not answer.
    """
    component = home / ".tiup/components/bench/v1.12.0"
    component.parent.mkdir(parents=True)
    if installed:
        component.mkdir()
    tiup = home / ".tiup/bin/tiup"
    tiup.parent.mkdir()
    tiup.write_text(f"""#!/bin/sh
        cd {component.parent}
        case "$*" in
        "list bench")
            [ "{mirror}" = bench ] || {{ echo "Error: unknown component" >&2; exit 1; }}
            printf 'Available versions for bench:\nVersion  Installed\n-------  ---------\n'
            printf 'v1.12.0\nv1.13.0\n' ;;
        "list") [ -n "{mirror}" ] || {{ echo "Error: no such host" >&2; exit 1; }} ;;
        "bench --help") mkdir -p v1.12.0; exit {help_code} ;;
        "bench:v1.13.0 --help") mkdir -p v1.13.0 ;;
        "--binary bench") echo "$PWD/v1.12.0/tiup-bench" ;;
        "--binary bench:v1.13.0") cd v1.13.0 && echo "$PWD/tiup-bench" ;;
        *) echo "component not installed" >&2; exit 1 ;;
        esac
    """)
    tiup.chmod(0o755)
    return component


def test_tiup_s_client_is_the_go_tpc_beside_its_component(tmp_path: Path) -> None:
    """Up to v1.11 the component was go-tpc itself."""
    component = install_tiup(tmp_path)
    assert located(tmp_path).stdout == f"{component}/tiup-bench\n"
    (component / "go-tpc").touch()
    assert located(tmp_path).stdout == f"{component}/go-tpc\n"


def test_tiup_s_client_is_the_one_of_the_wanted_version(tmp_path: Path) -> None:
    """TiUP gets it if it is not there; the version that is run is the one that is recorded."""
    component = install_tiup(tmp_path)
    assert located(tmp_path, "v1.13.0").stdout == f"{component.parent}/v1.13.0/tiup-bench\n"
    assert not (component.parent / "v9.9.9").exists()
    failed = located(tmp_path, "v9.9.9")
    assert (failed.returncode, failed.stderr) == (1, "component not installed\n")

    def answer(command: Sequence[str], stdin: str) -> str:
        assert command[-1] == "v1.13.0"
        return f"{component.parent}/v1.13.0/tiup-bench\n"

    _, facts = program.choose(fakes.FakeExecutor(answer), TPCC, "tiup", version="v1.13.0")
    assert facts["client_version"] == "tiup bench v1.13.0"
    assert facts["client_path"].endswith("/v1.13.0/tiup-bench")


def test_a_missing_tiup_is_distinguished_from_one_that_cannot_download(tmp_path: Path) -> None:
    """If it is missing another client is used; if it cannot download, that is an error."""
    missing = located(tmp_path)
    assert (missing.returncode, missing.stdout) == (127, "")
    install_tiup(tmp_path, help_code=1)
    assert located(tmp_path).returncode == 1


def test_a_tiup_whose_mirror_has_no_bench_is_passed_over_and_named(tmp_path: Path) -> None:
    """One's own mirror need not have it; one that does not answer may have it, and is an error."""
    component = install_tiup(tmp_path, installed=False, mirror="tidb")
    lacking = located(tmp_path)
    assert lacking.returncode == 127
    why = "neither it nor its mirror has the component bench"
    assert lacking.stderr.splitlines()[-1] == why

    def answer(command: Sequence[str], stdin: str) -> str:
        if command[0] == "sh":
            raise CommandError("fake", "sh", lacking.returncode, lacking.stderr)
        return SAID[command[0]]

    chosen, facts = program.choose(fakes.FakeExecutor(answer), TPCC, None)
    assert chosen.name == "go-tpc"
    assert program.told(facts) == f"go-tpc v1.0.12; no tiup ({why})"
    with pytest.raises(UnavailableError, match=rf"there is no tiup \({why}\) to run"):
        program.choose(fakes.FakeExecutor(answer), TPCC, "tiup")
    (tmp_path / ".tiup/bin/tiup").unlink()
    (tmp_path / ".tiup/bin").rmdir()
    component.parent.rmdir()
    install_tiup(tmp_path, installed=False, mirror="")
    assert located(tmp_path).returncode == 1


def test_a_look_at_the_clients_fetches_nothing(tmp_path: Path) -> None:
    """A plan names the version that TiUP would fetch; a campaign fetches it."""
    component = install_tiup(tmp_path, installed=False)
    newest = f"{component.parent}/v1.13.0/tiup-bench\n"
    assert located(tmp_path, "", "look").stdout == newest
    assert list(component.parent.iterdir()) == []
    assert located(tmp_path).returncode == 0
    assert component.exists()


def test_a_client_of_another_version_is_refused() -> None:
    """What is really there is asked, and named with the host and what to do."""
    _, facts = program.choose(host("sysbench"), SYSBENCH, None, version="1.0.20")
    assert facts["client_version"] == "sysbench 1.0.20"
    with pytest.raises(UnavailableError) as caught:
        program.choose(host("sysbench"), SYSBENCH, None, version="1.1.0-ead2689")
    assert str(caught.value) == (
        "client.version: sysbench on fake is sysbench 1.0.20, not 1.1.0-ead2689; install that "
        "version there and name it in client.path, or change client.version"
    )


@pytest.mark.parametrize(
    ("workload", "printed", "least"),
    [
        ("tpcc", "Release version: v1.0.8", "v1.0.9"),
        ("tpch_q1", "Release version: v1.0.9", "v1.0.10"),
    ],
)
def test_a_client_whose_output_is_not_read_is_refused_before_anything_is_loaded(
    workload: str, printed: str, least: str
) -> None:
    """Every trial would be invalid, after hours of loading; one that names no version is taken."""
    said = {"go-tpc": printed}

    def answer(command: Sequence[str], stdin: str) -> str:
        return said[command[0]]

    wanted = (
        f"on fake: go-tpc {printed.split()[-1]}: Benchlab reads the output of {least} and later"
    )
    with pytest.raises(UnavailableError, match=wanted):
        program.choose(fakes.FakeExecutor(answer), by_name()[workload], "go-tpc")
    said["go-tpc"] = "Release version: None"
    chosen, _ = program.choose(fakes.FakeExecutor(answer), by_name()[workload], "go-tpc")
    assert chosen.name == "go-tpc"


def test_a_program_is_started_by_its_path() -> None:
    """With its version; a commit behind the version is not asked for unless it is named."""

    def answer(command: Sequence[str], stdin: str) -> str:
        assert command == ["/opt/sysbench/bin/sysbench", "--version"]
        return "sysbench 1.1.0-ead2689\n"

    path = "/opt/sysbench/bin/sysbench"
    for version in ("1.1.0", "1.1.0-ead2689"):
        executor = fakes.FakeExecutor(answer)
        chosen, facts = program.choose(executor, SYSBENCH, None, path=path, version=version)
        assert facts["client_path"] == path
    assert chosen.started(["sysbench", "oltp_insert"], path) == [path, "oltp_insert"]
