"""A sysbench of the user's own is built once from the archive that is named, and from no other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import fit
from benchlab.errors import SpecError, UnavailableError
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.client import Client
from benchlab.workloads import by_name, program, sysbench_archive
from tests.builders import plans
from tests.builders.sysbench_source import NEEDED, archived, client, source


def git(made: Path, *words: str) -> None:
    """Run git there, whatever the user's own settings are."""
    named = [part for key in ("name", "email") for part in ("-c", f"user.{key}=test")]
    subprocess.run(["git", "-C", str(made), *named, *words], check=True, capture_output=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalExecutor:
    """This machine, with all that the small sysbench needs."""
    for tool in sysbench_archive.TOOLS.keys() - NEEDED:
        monkeypatch.delitem(sysbench_archive.TOOLS, tool)
    return LocalExecutor(tmp_path / "jobs", "sysbench-archive")


def installed(here: LocalExecutor, tmp_path: Path, wanted: Client) -> dict[str, str]:
    """The facts of the client, after it was built where only this test looks."""
    made = sysbench_archive.built(here, tmp_path / "clients", tmp_path, wanted)
    return program.install(here, tmp_path, by_name()["oltp_insert"], made, measured_with=None)


def test_it_is_built_once_and_asked_for_its_version(here: LocalExecutor, tmp_path: Path) -> None:
    """The next one finds it by its hash, and nothing else is left."""
    wanted = client(archived(source(tmp_path)))
    facts = installed(here, tmp_path, wanted)
    assert facts["client_version"] == "sysbench 1.1.0"
    path = Path(facts["client_path"])
    assert path.parent.parent == tmp_path / "clients" / f"sysbench-{wanted.sha256}"
    refused = here.run([str(path), "oltp_no_such", "run"], check=False)
    assert (refused.exit_code, "FATAL: Cannot find benchmark" in refused.stdout) == (1, True)
    before = path.stat().st_mtime_ns
    assert installed(here, tmp_path, wanted) == facts
    assert path.stat().st_mtime_ns == before
    left = {each.name.partition(".")[2] for each in (tmp_path / "clients").iterdir()}
    assert left == {"", "lock"}
    with pytest.raises(
        UnavailableError, match=r"client\.version: .* is sysbench 1\.1\.0, not 1\.0"
    ):
        installed(here, tmp_path, wanted.model_copy(update={"version": "1.0.20"}))


def test_its_commit_is_its_own(here: LocalExecutor, tmp_path: Path) -> None:
    """Of the repository in the archive, or as `git archive` noted it; never of one around it."""
    made = source(tmp_path)
    for repository in (tmp_path, made):
        git(repository, "init", "-q")
        git(repository, "commit", "-q", "--allow-empty", "-m", str(repository))
    git(made, "add", "configure.ac", "autogen.sh", "Makefile.in")
    git(made, "commit", "-q", "-m", "source")
    head = subprocess.check_output(["git", "-C", str(made), "rev-parse", "HEAD"], text=True)
    exact = f"1.1.0-{head[:7]}"
    with_repository = client(archived(made), version=exact)
    assert installed(here, tmp_path, with_repository)["client_version"] == f"sysbench {exact}"
    git(made, "archive", "--prefix=x/", "-o", str(tmp_path / "exported.tar.gz"), "HEAD")
    exported = client(tmp_path / "exported.tar.gz", version=exact)
    assert installed(here, tmp_path, exported)["client_version"] == "sysbench 1.1.0"
    other = exported.model_copy(update={"version": "1.1.0-ead2689"})
    with pytest.raises(UnavailableError, match=r"is sysbench 1\.1\.0, not 1\.1\.0-ead2689"):
        installed(here, tmp_path, other)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"autogen.sh": "#!/bin/sh\necho no m4 >&2; exit 7\n"}, "no m4"),
        ({"Makefile.in": "all:\n\tfalse\n"}, "Error 1"),
        ({"Makefile.in": "all:\n"}, "No rule to make target 'install'"),
        ({"configure.ac": None}, "it has no configure.ac"),
    ],
)
def test_what_cannot_be_built_is_quoted_and_leaves_nothing(
    here: LocalExecutor, tmp_path: Path, files: dict[str, str | None], said: str
) -> None:
    """The last lines of the step that failed; the next try begins anew."""
    wanted = client(archived(source(tmp_path, **files)))
    for _ in range(2):
        with pytest.raises(UnavailableError, match=f"(?s)cannot be built from .*{said}"):
            installed(here, tmp_path, wanted)
    assert [each.suffix for each in (tmp_path / "clients").iterdir()] == [".lock"]


def test_what_is_missing_for_building_is_named_by_its_package(
    here: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it at once, before anything is copied."""
    monkeypatch.setitem(sysbench_archive.TOOLS, "no-such-tool", "no-such-package")
    with pytest.raises(UnavailableError, match=r"lacks no-such-tool; .*no-such-package"):
        installed(here, tmp_path, client(archived(source(tmp_path))))
    assert not (tmp_path / "clients").exists()


def test_another_archive_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """One that has changed, one that is no archive, and one that is not there."""
    archive = archived(source(tmp_path))
    wanted = client(archive)
    sysbench_archive.check(tmp_path, wanted)
    with pytest.raises(SpecError, match=r"client\.sha256: .* has [0-9a-f]{64}, not a{64}"):
        sysbench_archive.check(tmp_path, wanted.model_copy(update={"sha256": "a" * 64}))
    archive.write_text("PK")
    with pytest.raises(SpecError, match="is no tar archive"):
        sysbench_archive.check(tmp_path, wanted)
    archive.unlink()
    with pytest.raises(SpecError, match=r"client\.archive: .* it does not exist"):
        sysbench_archive.check(tmp_path, wanted)
    with pytest.raises(SpecError, match=r"client\.archive: /dev/zero: .* larger than 64 MB"):
        sysbench_archive.check(tmp_path, wanted.model_copy(update={"archive": "/dev/zero"}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sha256": None}, "client: archive and sha256 belong together"),
        ({"path": "/opt/sysbench"}, "client.path: sysbench is built from client.archive"),
        ({"version": None}, "client.version: missing; write which sysbench a.tar.gz is"),
    ],
)
def test_an_archive_has_a_hash_and_a_version(fields: dict[str, Any], message: str) -> None:
    """And no path, which says where another program is."""
    made = {"archive": "a.tar.gz", "sha256": "a" * 64, "version": "1.1.0", **fields}
    with pytest.raises(SpecError) as refused:
        fit.check(plans.spec(client=made), "x.yaml")
    assert message in str(refused.value)
