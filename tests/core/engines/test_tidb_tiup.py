"""The command lines that TiUP is given, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchlab.engines.tidb import rules
from benchlab.engines.tidb.tiup import TiUP, read_list, said
from benchlab.errors import CommandError, CommandTimeout, UnavailableError
from benchlab.hosts.executor import Completed
from tests.builders import fakes

GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"
PROGRAM = "/usr/local/bin/tiup"
LIMITS = ["--yes", "--wait-timeout", "120", "-c", "5"]


class Host(fakes.FakeExecutor):
    """A host whose `tiup` prints something, or fails with it."""

    def __init__(self, said: str = "", exit_code: int = 0) -> None:
        super().__init__()
        self.said, self.exit_code = said, exit_code
        self.envs: list[Mapping[str, str] | None] = []

    def run(self, command: Sequence[str], **options: Any) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        if command[0] == "sh":
            return Completed(0, f"{PROGRAM}\n", "")
        self.commands.append(list(command))
        self.envs.append(options.get("env"))
        if self.exit_code:
            raise CommandError("client-1", " ".join(command), self.exit_code, self.said)
        return Completed(0, self.said, "")


def tiup(host: fakes.FakeExecutor) -> TiUP:
    """TiUP on a host."""
    return TiUP(host, "admin", Path("/home/admin/key"))


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (
            lambda t: t.deploy("c1-baseline", "v5.1.1", Path("/campaign/topology.yaml")),
            [
                *("deploy", "c1-baseline", "v5.1.1", "/campaign/topology.yaml"),
                *("--user", "admin", "--identity_file", "/home/admin/key"),
            ],
        ),
        (lambda t: t.cluster("start", "c1-baseline"), ["start", "c1-baseline"]),
        (lambda t: t.cluster("stop", "c1-baseline"), ["stop", "c1-baseline"]),
        (lambda t: t.cluster("disable", "c1-baseline"), ["disable", "c1-baseline"]),
        (lambda t: t.cluster("destroy", "c1-baseline"), ["destroy", "c1-baseline"]),
    ],
)
def test_tiup_is_asked_in_its_own_words(call: Any, arguments: list[str]) -> None:
    """Every command waits two minutes at most for a server and never asks back."""
    host = Host()
    call(tiup(host))
    assert host.commands == [[PROGRAM, "cluster", *arguments, *LIMITS]]


def test_no_configuration_check_is_skipped() -> None:
    """What a server would refuse is found while deploying, not while starting."""
    host = Host()
    tiup(host).deploy("c1", "v5.1.1", Path("/t.yaml"))
    assert "--ignore-config-check" not in host.commands[0]


def test_a_real_list_is_read() -> None:
    """Also with TiUP's remarks around the document."""
    text = (GOLDEN / "list.json").read_text()
    assert "c1-candidate" in read_list(text)
    assert read_list(f"WARNING: both mirrors have been set.\n{text}") == read_list(text)
    assert read_list('{"clusters":[]}\n') == []


def test_an_answer_without_a_list_is_an_error() -> None:
    """An empty answer is not taken for 'no clusters'."""
    with pytest.raises(CommandError, match="no JSON"):
        read_list("tiup: command not found")


@pytest.mark.parametrize("text", ["{}", '{"clusters": null}', '{"clusters": [{"id": "c1"}]}'])
def test_an_answer_with_another_list_is_quoted(text: str) -> None:
    """The command, what it printed, and what that is not."""
    with pytest.raises(CommandError) as caught:
        read_list(text)
    for part in ("tiup cluster list --format json", text, "no list of clusters"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ("Error: Cluster name 'c1' is duplicated (deploy.name_dup)", "destroy it"),
        ("Error: Deploy port conflicts (spec.deploy.port_conflict)", "another cluster"),
        (
            "Error: init config failed: {ssh_stderr: unknown configuration}: check config failed",
            "correct it in the report type",
        ),
        (
            "Error: version v9.9.9 on linux/amd64 for component pd not found: unknown version",
            "tiup list tidb",
        ),
        (
            "Error: failed to fetch cpu-arch: dial tcp 10.0.0.1:22: connect: connection refused",
            "cannot be logged in to",
        ),
    ],
)
def test_a_failure_says_what_tiup_said_and_what_to_do(output: str, hint: str) -> None:
    """The host, the command, TiUP's own words without its progress, and a way out."""
    host = Host("  - Copy tidb -> 10.0.0.1 ... Done\n" * 50 + f"\n{output}\n", exit_code=1)
    with pytest.raises(CommandError) as caught:
        tiup(host).deploy("c1", "v5.1.1", Path("/t.yaml"))
    text = str(caught.value)
    assert text.startswith(f"on client-1: `{PROGRAM} cluster deploy c1 v5.1.1")
    assert "exit code 1" in text
    assert output in text
    assert hint in text
    assert "Copy tidb" not in text


def test_an_unknown_failure_is_quoted_as_it_is() -> None:
    """Without the line that TiUP begins its errors with, all of its last lines count."""
    assert said("a\n\nb\n") == "a\nb"
    assert said("a\nError: no\nand why\n") == "Error: no\nand why"


def test_a_timeout_stays_a_timeout() -> None:
    """So that it is not taken for a refusal."""

    class Slow(Host):
        def run(self, command: Sequence[str], **options: Any) -> Completed:
            if command[0] == "sh":
                return Completed(0, f"{PROGRAM}\n", "")
            raise CommandTimeout("client-1", "tiup", 900)

    with pytest.raises(CommandTimeout):
        tiup(Slow()).cluster("start", "c1")


def test_a_host_without_tiup_is_named() -> None:
    """With the places where it was looked for."""

    class Bare(fakes.FakeExecutor):
        def run(self, command: Sequence[str], **options: Any) -> Completed:
            return Completed(1, "", "")

    with pytest.raises(UnavailableError, match=r"on fake: .*PATH.*~/\.tiup/bin"):
        tiup(Bare()).cluster("start", "c1")


def test_br_is_given_the_region_of_the_bucket() -> None:
    """It would assume another one; credentials are the hosts' own, and BR passes none on. Its
    checksums, which prove that sides hold the same rows, do not depend on a version's default.
    """
    host = Host()
    where = {"pd": "10.0.0.1:2379", "storage": "s3://datasets/a", "database": "sbtest"}
    tiup(host).br("v5.2.0", "backup", **where, region="us-west-2", log=Path("/d/br.log"))
    assert host.commands == [
        [
            *(PROGRAM, "br:v5.2.0", "backup", "db", "--pd", "10.0.0.1:2379"),
            *("--storage", "s3://datasets/a", "--s3.region", "us-west-2"),
            *("--send-credentials-to-tikv=false", "--checksum=true", "--db", "sbtest"),
            *("--log-file", "/d/br.log"),  # else it stays in /tmp
        ]
    ]
    assert host.envs == [None]


def test_tikv_needs_imdsv1_before_it_knew_the_second_version() -> None:
    """From v8.4.0 on hosts may require tokens."""
    versions = ("v5.1.1", "v7.5.3", "v8.3.0", "v8.4.0", "v8.5.1")
    assert [rules.needs_imdsv1(version) for version in versions] == [True] * 3 + [False] * 2
