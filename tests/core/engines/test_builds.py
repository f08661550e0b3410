"""Builds: what is taken for one, how it is kept, and what a web user cannot make of it."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from benchlab.campaign import fit, overrides
from benchlab.engines import builds
from benchlab.engines.tidb.server import ELF
from benchlab.errors import FetchError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.builds import Build
from benchlab.plan.report_type import ReportSpec
from tests.builders import plans

COMMIT = "5c91a2b" + "0" * 33
PROGRAM = ELF + b" not really\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An installation without anything."""
    return Home(tmp_path, tmp_path / "state")


def spec(**build: Any) -> ReportSpec:
    """TiDB on this machine; the candidate has a build of ``tidb``."""
    sides = {
        "baseline": {"version": "v8.5.7"},
        "candidate": {"version": "v8.5.7", "builds": {"tidb": build}},
    }
    return plans.spec(engine="tidb", engines={"tidb": sides})


def of(found: ReportSpec) -> Build:
    """The candidate's build."""
    return found.side("tidb", "candidate").builds["tidb"]


def tarball(path: Path, *names: str, content: bytes = PROGRAM) -> Path:
    """A tarball with these files."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return path


def sha256(path: Path) -> str:
    """As `sha256sum` prints it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a server that hands out what is in `web`."""
    (tmp_path / "web").mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            return

    handler = partial(Quiet, directory=str(tmp_path / "web"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["tidb-server", "bin/tidb-server", "./a/b/tidb-server"])
def test_a_tarball_is_repacked_as_tiup_wants_it(home: Home, name: str) -> None:
    """The server at its root, executable, gzipped, wherever it was in the file that was named."""
    source = tarball(home.project / "t.tar.gz", "README", name)
    build = of(builds.pinned(home, spec(source="t.tar.gz"), Access()))
    assert build.sha256 == sha256(source)
    package = builds.package(home, "tidb", build)
    with tarfile.open(package, "r:gz") as tar:
        (entry,) = tar.getmembers()
        assert (entry.name, entry.mode & 0o500) == ("tidb-server", 0o500)


def test_a_kept_build_outlives_its_source(home: Home) -> None:
    """By its hash it is deployed again after the file is gone; another file is another build."""
    source = home.project / "tidb-server"
    source.write_bytes(PROGRAM)
    first = builds.pinned(home, spec(source="tidb-server"), Access())
    source.write_bytes(PROGRAM + b"newer")
    second = builds.pinned(home, spec(source="tidb-server"), Access())
    source.unlink()
    assert first.side("tidb", "candidate").label != second.side("tidb", "candidate").label
    again = builds.pinned(home, spec(sha256=of(first).sha256), Access())
    assert of(again).sha256 == of(first).sha256
    assert (builds.files(home, of(again)) / "tidb-server").read_bytes() == PROGRAM
    assert {one.sha256 for one in builds.all_kept(home)} == {of(first).sha256, of(second).sha256}
    assert builds.why_not_deployable(home, first.side("tidb", "candidate")) is None


def test_a_build_that_is_gone_is_named(home: Home) -> None:
    """Both to a campaign, and to a rule that asks whether a measured version can be had."""
    wanted = spec(sha256="a" * 64)
    with pytest.raises(
        UnavailableError, match=r"candidate\.builds\.tidb: build sha256-aaaaaaa is not kep"
    ):
        builds.pinned(home, wanted, Access())
    why = builds.why_not_deployable(home, wanted.side("tidb", "candidate"))
    assert why is not None
    assert "v8.5.7@sha256-aaaaaaa: not kept on this machine any more: tidb sha256-aaaaaaa" in why


@pytest.mark.parametrize("fetch", [True, False])
@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda path: path.write_text("#!/bin/sh\n"), "neither a Linux program nor a tarball"),
        (lambda path: tarball(path, "pd-server"), "a tarball with 0 files tidb-server"),
        (lambda path: tarball(path, "a/tidb-server", "b/tidb-server"), "2 files tidb-server"),
        (lambda path: tarball(path, "tidb-server", content=b"text"), "neither a Linux program"),
        (lambda path: None, "there is no "),
    ],
)
def test_what_is_no_build_is_refused_before_anything_is_rented(
    home: Home, make: Any, fault: str, fetch: bool
) -> None:
    """Also where nothing is fetched, as by `benchlab validate`; nothing is kept of it."""
    make(home.project / "build")
    with pytest.raises(SpecError, match=rf"engines\.tidb\.candidate\.builds\.tidb: .*{fault}"):
        builds.pinned(home, spec(source="build"), Access(), fetch=fetch)
    assert builds.all_kept(home) == []


def test_a_file_with_another_hash_is_refused(home: Home, web: str) -> None:
    """On this machine, and over the network."""
    (home.project / "web" / "tidb-server").write_bytes(PROGRAM)
    for source in ("web/tidb-server", f"{web}/tidb-server"):
        with pytest.raises(
            (SpecError, UnavailableError), match=f"has the sha256 .*, not {'b' * 64}"
        ):
            builds.pinned(home, spec(source=source, sha256="b" * 64), Access())
    assert builds.all_kept(home) == []


def test_an_address_is_fetched_once(home: Home, web: str) -> None:
    """What is kept is not asked for again; without fetching, nothing is."""
    file = home.project / "web" / "tidb-server"
    file.write_bytes(PROGRAM)
    wanted = spec(source=f"{web}/tidb-server", sha256=sha256(file))
    assert builds.pinned(home, wanted, Access(), fetch=False) == wanted
    assert builds.all_kept(home) == []
    builds.pinned(home, wanted, Access())
    file.unlink()
    assert of(builds.pinned(home, wanted, Access())).sha256 == of(wanted).sha256


def test_no_answer_is_told_from_one_that_there_is_no_such_file(home: Home, web: str) -> None:
    """What does not answer may later; what is not there stays away."""
    hashed = {"sha256": "a" * 64}
    for address, kind in (
        (f"{web}/gone", UnavailableError),
        ("http://127.0.0.1:1/tidb-server", FetchError),
    ):
        with pytest.raises(UnavailableError, match="cannot be fetched") as caught:
            builds.pinned(home, spec(source=address, **hashed), Access())
        assert caught.type is kind


def test_a_file_without_an_end_is_refused(
    home: Home, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has filled the disk."""
    monkeypatch.setattr(builds, "MOST_BYTES", 1 << 20)
    (home.project / "web" / "tidb-server").write_bytes(bytes(3 << 20))
    source = f"{web}/tidb-server"
    with pytest.raises(UnavailableError, match="tidb-server: it is larger than"):
        builds.pinned(home, spec(source=source, sha256="a" * 64), Access())


def test_an_answer_that_is_cut_off_is_asked_for_again(
    home: Home, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for a file with another hash."""
    file = home.project / "web" / "tidb-server"
    file.write_bytes(PROGRAM)
    headers = SimpleHTTPRequestHandler.send_header

    def more(self: Any, name: str, value: str) -> None:
        headers(self, name, str(int(value) + 7) if name == "Content-Length" else value)

    monkeypatch.setattr(SimpleHTTPRequestHandler, "send_header", more)
    with pytest.raises(FetchError, match="its last 7 bytes are missing"):
        builds.pinned(home, spec(source=f"{web}/tidb-server", sha256=sha256(file)), Access())


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("SlowDown", 503, FetchError),
        ("AccessDenied", 403, UnavailableError),
        ("NoSuchKey", 404, UnavailableError),
    ],
)
def test_a_throttled_object_is_told_from_one_that_is_not_there(
    home: Home, code: str, status: int, kind: type[Exception]
) -> None:
    """S3 answers 503 for a while; a missing object and a missing right stay."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    s3 = boto3.client("s3", region_name="us-east-1", **keys)
    wanted = spec(source="s3://builds/tidb-server", sha256="a" * 64)
    access = Access(aws=lambda service, region: s3)
    stub = Stubber(s3)
    stub.add_client_error("get_object", code, http_status_code=status)
    stub.activate()
    with pytest.raises(UnavailableError, match="cannot be fetched") as caught:
        builds.pinned(home, wanted, access)
    assert caught.type is kind


COUNT = ["sh", "-c", 'echo run >> runs; printf "\\177ELF {commit}" > "$0"', "{output}"]


def test_a_commit_is_built_once(home: Home) -> None:
    """The next campaign takes what was built; another commit is built anew."""
    for commit in (COMMIT, COMMIT, "abcdef0"):
        build = of(builds.pinned(home, spec(command=COUNT, commit=commit), Access()))
        assert build.sha256 == hashlib.sha256(b"\x7fELF " + commit.encode()).hexdigest()
    assert (home.project / "runs").read_text() == "run\nrun\n"


def test_a_failed_command_is_quoted(home: Home) -> None:
    """With the end of its log, which stays; and so is one that writes nothing."""
    fails = spec(command=["sh", "-c", "echo cannot; exit 3", "{output}"], commit=COMMIT)
    with pytest.raises(
        UnavailableError, match=r"(?s)failed \(exit code 3\); .*\.log ends:\ncannot"
    ):
        builds.pinned(home, fails, Access())
    with pytest.raises(UnavailableError, match=r"wrote no \{output\}"):
        builds.pinned(home, spec(command=["true", "{output}"], commit=COMMIT), Access())


def test_a_program_of_another_commit_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template's file, or a command's, that is not built from what was asked for."""
    from benchlab.engines.tidb import Engine

    monkeypatch.setattr(Engine, "build_hash", classmethod(lambda *_: "f" * 40))
    (home.project / "tidb-5c91a2b").write_bytes(PROGRAM)
    wanted = spec(source="tidb-{commit}", commit="5c91a2b")
    with pytest.raises(SpecError, match=f"it is built from {'f' * 40}, not from 5c91a2b"):
        builds.pinned(home, wanted, Access())


@pytest.mark.parametrize(
    ("build", "fault"),
    [
        ({}, "names no build"),
        ({"source": "https://example.com/tidb"}, "sha256: missing"),
        ({"source": "http://example.com/{commit}/tidb", "commit": COMMIT}, "sha256: missing"),
        ({"source": "ftp://example.com/tidb", "sha256": "a" * 64}, "ftp:// is not known"),
        ({"source": "https://me:x@example.com/t", "sha256": "a" * 64}, "would be published"),
        ({"source": "https://example.com/t?key=x", "sha256": "a" * 64}, "would be published"),
        ({"source": "a", "command": ["b", "{output}"]}, "both a source and a command"),
        ({"command": ["make", "{output}"]}, "commit: missing; its command needs one"),
        ({"command": ["make"], "commit": COMMIT}, "{output} is missing"),
        ({"source": "a", "commit": COMMIT}, "commit: nothing uses it"),
        ({"source": "a-{commit}", "commit": "../../etc"}, "commit"),
    ],
)
def test_what_names_no_build_is_refused(build: dict[str, Any], fault: str) -> None:
    """Each names the field and what to write."""
    with pytest.raises(ValueError, match=fault.replace("{", r"\{")):
        spec(**build)


@pytest.mark.parametrize(
    "change",
    [
        {"engines.tidb.candidate.builds.tidb.source": "/etc/shadow"},
        {"engines.tidb.candidate.builds.tidb.command": ["id", "{output}"]},
        {"engines.tidb.candidate.builds": {"tidb": {"source": "/etc/shadow"}}},
        {"engines.tidb.candidate": {"version": "v8.5.7", "builds": {"tidb": {"source": "/x"}}}},
        {
            "engines.tidb.baseline.builds": {
                "tidb": {"command": ["id", "{output}"], "commit": COMMIT}
            }
        },
    ],
)
def test_a_form_names_no_file_and_no_command(change: dict[str, Any]) -> None:
    """Whoever may start a campaign may not make the machine read or run what they like."""
    with pytest.raises(SpecError, match=r"builds|has both"):
        overrides.override(spec(source="t.tar.gz"), change)


def test_a_form_may_name_a_commit_or_another_version() -> None:
    """The build of another version is not this one's."""
    own = spec(source="tidb-{commit}", commit=COMMIT)
    changed = overrides.override(own, {"engines.tidb.candidate.builds.tidb.commit": "abcdef0"})
    assert of(changed).commit == "abcdef0"
    assert overrides.override(own, {"candidate": "v8.5.6"}).side("tidb", "candidate").builds == {}
    assert of(overrides.override(own, {"candidate": "v8.5.7"})) == of(own)


def test_only_what_is_deployed_can_be_a_build() -> None:
    """On one machine there is no TiKV, and MariaDB has no other component."""
    sides = {
        "baseline": {"version": "v8.5.7"},
        "candidate": {"version": "v8.5.7", "builds": {"tikv": {"source": "x"}}},
    }
    wanted = plans.spec(engine="tidb", engines={"tidb": sides})
    with pytest.raises(
        SpecError, match=r"builds\.tikv: on the target local a build is possible for: tidb$"
    ):
        fit.check(wanted, "x.yaml")
