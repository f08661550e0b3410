"""What TiUP says of the nightly: its real name, and packages that are known by their hashes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import report_types, stages
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.campaign.stages import CampaignRun
from benchlab.engines import builds
from benchlab.engines.tidb.server import ELF
from benchlab.errors import FetchError, NoReleaseError, NotMeasuredError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.builds import Build
from benchlab.plan.last_measured import MeasuredVersion
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.results.store import open_store
from tests.builders import campaigns, plans
from tests.builders.installation import Here

NAME = "v9.0.0-beta.2.pre-nightly"
# `tiup mirror show` and `tiup list` of TiUP 1.16: the latter checks the manifest and keeps it.
TIUP = """#!/bin/sh
case "$*" in
"mirror show") echo "{mirror}" ;;
"list "*)
    [ -e "{mirror}/$2.json" ] || {{
        echo "Error: failed to fetch component: unknown component" >&2; exit 1
    }}
    mkdir -p "$TIUP_HOME/manifests" && cp "{mirror}/$2.json" "$TIUP_HOME/manifests/"
    echo "v8.5.7      2026-01-15T10:00:00+08:00  linux/amd64,linux/arm64" ;;
*) exit 2 ;;
esac
"""


class Mirror:
    """A mirror on this machine, and the `tiup` that asks it."""

    def __init__(self, path: Path) -> None:
        self.path = path / "mirror"
        self.path.mkdir()
        program = path / "tiup-home" / "bin" / "tiup"
        program.parent.mkdir(parents=True)
        program.write_text(TIUP.format(mirror=self.path))
        program.chmod(0o755)

    def publish(self, component: str, day: str, **changes: Any) -> str:
        """Put a nightly of a day in place of the one before; returns its hash."""
        file = self.path / f"{component}-{NAME}-linux-amd64.tar.gz"
        content = ELF + f"{component} {day}".encode()
        with tarfile.open(file, "w:gz") as tar:
            entry = tarfile.TarInfo(f"{component}-server")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        item = {
            "url": f"/{file.name}",
            "entry": f"{component}-server",
            "released": f"{day}T00:14:51+08:00",
            "yanked": False,
            "hashes": {"sha256": sha256, "sha512": "0"},
            "length": 1,
            **changes,
        }
        platforms = {name: {NAME: item, "v8.5.7": {}} for name in ("linux/amd64", "linux/arm64")}
        signed = {"_type": "component", "id": component, "nightly": NAME, "platforms": platforms}
        manifest = {"signatures": [], "signed": signed}
        (self.path / f"{component}.json").write_text(json.dumps(manifest))
        return sha256


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """With no `tiup` of the machine's own in the way."""
    monkeypatch.setenv("TIUP_HOME", str(tmp_path / "tiup-home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return Mirror(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An installation with nothing but its state."""
    return Home(tmp_path, tmp_path / "state")


def spec(**fields: Any) -> ReportSpec:
    """The nightly against a release, on this machine."""
    sides = {"baseline": {"version": "v8.5.7"}, "candidate": {"version": "nightly"}}
    return plans.spec(engine="tidb", engines={"tidb": sides}, **fields)


def today(home: Home, report_type: ReportSpec, asks: Asks = Asks.TO_RUN) -> ReportSpec:
    """As of today."""
    request = Request(report_type, datetime.now(UTC).date())
    return Resolver(home, asks=asks).versions(request).spec


def test_last_weeks_nightly_can_be_deployed_after_the_mirror_has_another(
    home: Home, mirror: Mirror
) -> None:
    """It is kept by the hash of its package; the next one is another version, of the same name."""
    first = mirror.publish("tidb", "2026-11-13")
    old = builds.pinned(home, today(home, spec()), Access()).side("tidb", "candidate")
    second = mirror.publish("tidb", "2026-11-20")
    new = builds.pinned(home, today(home, spec()), Access()).side("tidb", "candidate")
    assert old.version == new.version == NAME
    assert (old.builds["tidb"].sha256, new.builds["tidb"].sha256) == (first, second)
    assert old.label == f"{NAME}@2026-11-13-sha256-{first[:7]}"
    assert builds.why_not_deployable(home, old) is None
    kept = builds.files(home, old.builds["tidb"]) / "tidb-server"
    assert kept.read_bytes() == ELF + b"tidb 2026-11-13"


def test_a_nightly_is_not_measured_twice_and_is_planned_without_being_fetched(
    home: Home, mirror: Mirror
) -> None:
    """Its hash is in the manifest, so that a plan downloads nothing."""
    mirror.publish("tidb", "2026-11-13")
    planned = today(home, spec(), Asks.EVERYBODY)
    assert not home.builds.exists()
    assert Resolver(home).engine(planned)[0] == "tidb"
    fetched = builds.pinned(home, planned, Access())
    one, other = (found.side("tidb", "candidate").builds["tidb"] for found in (planned, fetched))
    assert one.identity == other.identity


def test_a_fleet_gets_the_packages_of_all_components(home: Home, mirror: Mirror) -> None:
    """Each with its own hash: they are built from repositories of their own."""
    hashes = {name: mirror.publish(name, "2026-11-13") for name in ("tidb", "tikv", "pd")}
    engine = {"tidb": spec().engines["tidb"].model_dump(mode="json")}
    found = today(home, plans.fleet_spec(engines=engine)).side("tidb", "candidate").builds
    assert {name: build.sha256 for name, build in found.items()} == hashes


def test_a_nightly_that_is_overwritten_meanwhile_is_not_taken_for_the_planned_one(
    home: Home, mirror: Mirror
) -> None:
    """The hash of the plan's manifest is not that of the file."""
    mirror.publish("tidb", "2026-11-13")
    planned = today(home, spec(), Asks.EVERYBODY)
    mirror.publish("tidb", "2026-11-14")
    with pytest.raises(Exception, match="has the sha256"):
        builds.pinned(home, planned, Access())


@pytest.mark.parametrize("has_tiup", [True, False])
def test_a_campaign_of_last_weeks_nightly_is_resumed(
    here: Here, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, has_tiup: bool
) -> None:
    """With the build that is kept, whatever the mirror has now; another version is refused."""
    (here.path / "base").write_bytes(ELF + b"base")
    base = {"version": "v8.5.7", "builds": {"tidb": {"source": "base"}}}
    sides = {"baseline": base, "candidate": {"version": "nightly"}}
    report = here.report(engine="tidb", engines={"tidb": sides})
    first = mirror.publish("tidb", "2026-11-13")
    with open_store(here.home) as store:
        begun = today(here.home, report_types.load(report))
        campaigns.begin(here.home, store, begun, "c1")
    mirror.publish("tidb", "2026-11-20")
    tiup = str(mirror.path.parent / "tiup-home") if has_tiup else "nothing"
    env = {"PATH": "/usr/bin:/bin", "TIUP_HOME": tiup}
    resumed: list[CampaignRun] = []

    def measure(work: CampaignRun, *, wait: bool) -> None:
        assert not wait
        resumed.append(work)
        raise NotMeasuredError("as far as this test goes")

    monkeypatch.setattr(stages, "run", measure)
    said = here.run("run", report, "--campaign", "c1", **env).stderr
    assert "as far as this test goes" in said
    assert resumed[0].plan.sides["candidate"].builds["tidb"].sha256 == first
    assert "c1 exists already" in here.refused(
        "run", report, "--campaign", "c1", "--set", "candidate=v8.5.6", **env
    )


def test_a_file_that_was_measured_is_no_baseline_of_itself(here: Here) -> None:
    """It is known by its hash before `last good` is asked for."""
    file = here.path / "own"
    file.write_bytes(ELF + b"own")
    version = "v9.0.0-beta.2.pre-7"
    kept = Build(source="own", sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    on = datetime.now(UTC).date()
    known = MeasuredVersion(version, "c1", on - timedelta(7), lambda: True, builds={"tidb": kept})
    sides = {
        "baseline": {"version": "last good"},
        "candidate": {"version": version, "builds": {"tidb": {"source": "own"}}},
    }
    own = plans.spec(engine="tidb", engines={"tidb": sides})
    found = (
        Resolver(here.home, asks=Asks.NOBODY)
        .versions(Request(own, on, measured=lambda engine: [known]))
        .spec
    )
    assert found.side("tidb", "baseline").builds == {}
    assert found.side("tidb", "candidate").builds["tidb"].sha256 == kept.sha256


def test_a_past_day_has_no_nightly(home: Home, mirror: Mirror) -> None:
    """A backfill skips it as it skips a day without a release."""
    mirror.publish("tidb", "2026-11-13")
    with pytest.raises(NoReleaseError, match="the nightly of a past day is no longer available"):
        Resolver(home).versions(Request(spec(), datetime.now(UTC).date() - timedelta(days=7)))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (None, "unknown component"),
        ({"yanked": True}, "is not offered any more"),
        ({"url": ...}, "tidb.json: the field url has to be a text, and is missing"),
        ({"hashes": {}}, "the field sha256 has to be a text, and is missing"),
        ({"hashes": {"sha256": "5c91"}}, "tidb.json: it is no manifest of TiUP 1.16"),
        ({"released": 20261113}, "the field released has to be a text, and is 20261113"),
    ],
)
def test_what_the_mirror_does_not_have_is_named(
    home: Home, mirror: Mirror, changes: dict[str, Any] | None, fault: str
) -> None:
    """With what shows what it has."""
    if changes is not None:
        mirror.publish("tidb", "2026-11-13", **{k: v for k, v in changes.items() if v is not ...})
        if changes.get("url") is ...:
            manifest = mirror.path / "tidb.json"
            manifest.write_text(manifest.read_text().replace('"url"', '"uri"'))
    with pytest.raises(UnavailableError, match=f"(?s)nightly: .*{fault}"):
        today(home, spec())


def test_a_mirror_that_does_not_answer_is_told_from_one_that_has_none(
    home: Home, mirror: Mirror
) -> None:
    """Asked again, it may answer; a component that it does not know it will not know then."""
    with pytest.raises(UnavailableError) as unknown:
        today(home, spec())
    program = mirror.path.parent / "tiup-home" / "bin" / "tiup"
    program.write_text("#!/bin/sh\necho 'Error: dial tcp: i/o timeout' >&2\nexit 1\n")
    with pytest.raises(UnavailableError) as silent:
        today(home, spec())
    assert (unknown.type, silent.type) == (UnavailableError, FetchError)


def test_without_tiup_it_is_said_what_to_do(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only TiUP knows which the nightly is."""
    monkeypatch.setenv("TIUP_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(UnavailableError, match="this machine has no `tiup` to look it up with"):
        today(home, spec())
