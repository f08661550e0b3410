"""Every topology that comes with Benchlab is valid, and a fault in one is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab import targets
from benchlab.campaign import report_types
from benchlab.errors import SpecError
from benchlab.home import Home, find
from benchlab.plan import topology
from benchlab.plan.topology import Ec2Topology
from benchlab.targets import rented
from benchlab.targets.ec2.regions import known_regions
from tests.builders import plans

HOME = find()
FILES = sorted((HOME.configs / "topologies").glob("*.yaml"))


def changed(tmp_path: Path, name: str, change: dict[str, Any]) -> Path:
    """One of the topologies with some fields replaced; a dotted key is a nested field."""
    raw = yaml.safe_load((HOME.configs / "topologies" / f"{name}.yaml").read_text())
    for key, value in change.items():
        *parents, last = key.split(".")
        node = raw
        for parent in parents:
            node = node[int(parent) if parent.isdigit() else parent]
        if value is None:
            del node[last]
        else:
            node[last] = value
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_topology_validates(path: Path) -> None:
    """Each file in configs/topologies is read, and says where it is from."""
    assert topology.load(path).kind in ("ec2", "hosts", "tidb_cloud")
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_a_key_that_is_there_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    """In any depth: a fleet that is larger than the first count says would be rented."""
    text = (HOME.configs / "topologies" / "ec2_published.yaml").read_text(encoding="utf-8")
    (tmp_path / "outer.yaml").write_text(f"{text}\nregion: eu-west-1\n", encoding="utf-8")
    inner = text.replace("count: 3", "count: 3, count: 99", 1)
    assert inner != text
    (tmp_path / "inner.yaml").write_text(inner, encoding="utf-8")
    for name, key in (("outer", "region"), ("inner", "count")):
        with pytest.raises(SpecError, match=rf"{name}\.yaml: .*(?s:.)*'{key}' occurs twice") as e:
            topology.load(tmp_path / f"{name}.yaml")
        assert "line " in str(e.value)


def test_every_report_type_and_published_plan_has_its_topology() -> None:
    """The topology that a report type names exists, and has the kind that its target needs."""
    for path in (*report_types.report_files(HOME), *report_types.published_files(HOME)):
        spec = report_types.load(path)
        found = targets.load_topology(HOME, spec)
        assert (found is None) == (spec.target in ("local", "existing"))
        assert found is None or found.kind == spec.target


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("ec2_published", {"kind": "moon"}, "kind: must be one of ec2, hosts, tidb_cloud"),
        ("ec2_published", {"region": None}, "region"),
        ("ec2_published", {"regoin": "us-west-2"}, "regoin"),
        ("ec2_published", {"roles.tikv": None}, "no host has the role tikv"),
        ("ec2_published", {"roles.client.count": 2}, "exactly one host drives the load"),
        ("ec2_published", {"roles.pd.count": 0}, "roles.pd.count"),
        ("ec2_published", {"image.id": "ami-0abc"}, "either `id` or `ssm_parameter`"),
        ("ec2_published", {"ssh_from": "anywhere"}, "ssh_from"),
        ("ec2_published", {"tiup": "http://example.org/install.sh"}, "tiup"),
        ("ec2_published", {"tiup": "image", "tiup_sha256": "0" * 64}, "`tiup: image` has none"),
        ("ec2_published", {"tiup_mirror": "https://me:secret@example.org"}, "tiup_mirror"),
        ("hosts_published", {"hosts.1.name": "host-1"}, "two have the same name"),
        ("hosts_published", {"hosts.1.address": "172.16.30.31"}, "two have the same address"),
        ("hosts_published", {"hosts.0.roles": ["tidb"]}, "no host has the role client"),
        ("hosts_published", {"hosts.0.host_key": "secret"}, "host_key"),
        (
            *("hosts_published", {"hosts.1.address": "2001:db8:7::11"}),
            "hosts.1.address: must be an IPv4 address or a name, without a port (ssh_port): Bench",
        ),
        ("hosts_published", {"hosts.1.address": "[2001:db8:7::11]"}, "no cluster on IPv6"),
        ("hosts_published", {"hosts.1.address": "fe80::1%eth0"}, "no cluster on IPv6"),
        ("hosts_published", {"hosts.1.address": "10.0.0.1:22"}, "without a port (ssh_port)"),
        ("ec2_first", {"ssh_from": [1]}, "ssh_from: must be `auto` or an address range, as"),
        ("tidb_cloud_published", {"client": "there"}, "client: must be 'here', found 'there'"),
        ("tidb_cloud_published", {"client.ssh_by": "x"}, "client.ssh_by: must be 'private' or"),
        ("hosts_published", {"data": "relative"}, "data"),
        ("tidb_cloud_published", {"tidb.size": "large"}, "tidb.size"),
        ("tidb_cloud_published", {"tikv": None}, "tikv"),
        ("tidb_cloud_published", {"endpoint": "public"}, "open_to: missing"),
        ("tidb_cloud_first", {"open_to": "203.0.113.7/32"}, "is open to nobody else"),
        ("tidb_cloud_published", {"client.image": None}, "client"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, name: str, change: dict[str, Any], named: str) -> None:
    """File and field, and what is wanted there."""
    path = changed(tmp_path, name, change)
    with pytest.raises(SpecError) as refused:
        topology.load(path)
    assert str(path) in str(refused.value)
    assert named in str(refused.value)


def test_what_is_no_file_of_yaml_is_named(tmp_path: Path) -> None:
    """Not there, not YAML, not a mapping."""
    with pytest.raises(SpecError, match="cannot be read"):
        topology.load(tmp_path / "none.yaml")
    path = tmp_path / "bad.yaml"
    for text in ("{", "- 1\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SpecError, match=r"bad\.yaml"):
            topology.load(path)


def test_a_host_whose_key_is_not_known_can_be_written_down() -> None:
    """The host keys of the published machines are unknown; a plan can be made nevertheless."""
    found = topology.load(HOME.configs / "topologies" / "hosts_published.yaml")
    assert isinstance(found, topology.HostsTopology)
    assert [host.host_key for host in found.hosts] == [None] * 4


def test_a_target_gets_the_kind_of_topology_it_needs(tmp_path: Path) -> None:
    """Missing where one is needed, given where none is, of another kind, or without a file."""
    home = Home(HOME.project, tmp_path)
    weekly = report_types.load(report_types.find_report(home, "sysbench_ec2"))
    for spec, named in (
        (weekly.with_overrides({"topology": None}), "needs a topology of kind ec2"),
        (weekly.with_overrides({"topology": "hosts_published"}), "is of kind hosts"),
        (weekly.with_overrides({"topology": "nowhere"}), "ec2_published"),
        (plans.spec(topology="ec2_published"), "has no topology"),
    ):
        with pytest.raises(SpecError, match=r"^topology: ") as refused:
            targets.load_topology(home, spec)
        assert named in str(refused.value)


@pytest.mark.parametrize(
    "line", ["note: 2024-13-45", "note: !!int x", f"note: {'[' * 3000}", f"kind: 0x{'f' * 9000}"]
)
def test_a_broken_topology_keeps_no_other_from_being_found(tmp_path: Path, line: str) -> None:
    """The reaper and the search for what is left visit the regions of those that can be read."""
    good = (HOME.configs / "topologies" / "ec2_published.yaml").read_text()
    (folder := tmp_path / "configs" / "topologies").mkdir(parents=True)
    (folder / "good.yaml").write_text(good)
    (folder / "bad.yaml").write_text(f"{line}\n")
    found = known_regions(Home(tmp_path, tmp_path / "state"))
    assert found.names == ("us-west-2",)
    assert len(found.skipped) == 1
    assert "bad.yaml" in found.skipped[0]


def test_what_is_allowed_is_tried_in_order_of_preference() -> None:
    """All types of a region before the next one; first those nearest to the preferred types."""
    raw = plans.ec2_topology().model_dump()
    raw["roles"]["tikv"] |= {"or_types": ("i4i.4xlarge", "i3en.6xlarge")}
    raw["roles"]["tidb"] |= {"or_types": ("c6i.4xlarge",)}
    raw |= {"elsewhere": ({"region": "us-east-1", "image": {"id": "ami-0fedcba9876543210"}},)}
    found = [
        (one.region, one.roles["tikv"].instance_type, one.roles["tidb"].instance_type)
        for one in Ec2Topology.model_validate(raw).choices()
    ]
    assert found[0] == ("us-west-2", "i3.4xlarge", "c5.4xlarge")
    assert set(found[1:3]) == {
        ("us-west-2", "i4i.4xlarge", "c5.4xlarge"),
        ("us-west-2", "i3.4xlarge", "c6i.4xlarge"),
    }
    assert len(found) == len(set(found)) == 12
    assert [region for region, *_ in found] == 6 * ["us-west-2"] + 6 * ["us-east-1"]


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        ([{"region": "us-west-2"}], "a region is named twice"),
        ([{"region": "us-east-1"}], "us-east-1 needs an image of its own"),
        ([{"region": "us-east-1", "ssh_from": "1.2.3.4/99"}], "or an address range"),
        ([{"region": "us-east-1", "subnet": "subnet-1"}], "subnet"),
    ],
)
def test_a_further_region_that_cannot_be_rented_in_is_refused(
    tmp_path: Path, elsewhere: list[dict[str, str]], said: str
) -> None:
    """The file, the field and what is wrong are named."""
    image = {"id": "ami-0123456789abcdef0"}
    path = changed(tmp_path, "ec2_published", {"image": image, "elsewhere": elsewhere})
    with pytest.raises(SpecError, match=rf"changed\.yaml: .*{said}"):
        topology.load(path)


@pytest.mark.parametrize("name", ["ec2_first", "ec2_published"])
def test_a_shipped_fleet_can_be_rented_as_it_is(name: str) -> None:
    """With credentials and nothing else: TiUP's own script, this machine's address."""
    found = topology.load(HOME.configs / "topologies" / f"{name}.yaml")
    assert isinstance(found, Ec2Topology)
    assert (found.ssh_from, found.tiup) == ("auto", "https://tiup-mirrors.pingcap.com/install.sh")


def test_a_topology_that_left_tiup_open_gets_the_default(tmp_path: Path) -> None:
    """`tiup: null` is what the shipped ones said, and their copies say."""
    path = changed(tmp_path, "ec2_first", {})
    path.write_text(f"{path.read_text()}\ntiup: null\n")
    found = topology.load(path)
    assert isinstance(found, Ec2Topology)
    assert found.tiup == topology.TIUP_INSTALLER


def test_this_machine_s_address_takes_the_place_of_auto_in_every_region() -> None:
    """And of nothing else."""
    raw = plans.ec2_topology().model_dump() | {
        "image": {"ssm_parameter": "/debian"},
        "ssh_from": "auto",
        "elsewhere": (
            {"region": "us-east-1"},
            {"region": "eu-west-1", "ssh_from": "198.51.100.0/24"},
        ),
    }
    found = Ec2Topology.model_validate(raw)
    decided = found.letting_in({"us-west-2": "172.31.5.1/32", "us-east-1": "172.30.5.1/32"})
    assert [place.ssh_from for place in decided.places()] == [
        *("172.31.5.1/32", "172.30.5.1/32", "198.51.100.0/24")
    ]
    assert decided.letting_in({}) == decided


@pytest.mark.parametrize(
    ("written", "here", "used"),
    [
        (None, None, None),
        (None, "https://mirror.example.org", "https://mirror.example.org"),
        ("https://vpc.internal", "https://mirror.example.org", "https://vpc.internal"),
        (None, "", None),
        (None, "/srv/mirror", None),  # a directory of this machine
        (None, "https://me:secret@mirror.example.org", None),
    ],
)
def test_tiup_s_mirror_is_the_topology_s_or_this_machine_s(
    written: str | None, here: str | None, used: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be passed on is said in the plan; a password is never shown."""
    monkeypatch.delenv("TIUP_MIRRORS", raising=False)
    if here is not None:
        monkeypatch.setenv("TIUP_MIRRORS", here)
    found = plans.ec2_topology().model_copy(update={"tiup_mirror": written})
    assert topology.mirror_of(found) == used
    lines = rented.Target.arrangements(HOME, found)[2:]
    assert all("secret" not in line for line in lines)
    assert bool(lines) == bool(here)
    assert not lines or (used or "not an http(s) address without a login") in lines[0]


@pytest.mark.parametrize("key", ["Name", "benchlab:campaign", "aws:owner", "Benchlab:mark"])
def test_tags_that_are_not_a_persons_own_are_refused(tmp_path: Path, key: str) -> None:
    """By those Benchlab finds what it rents, and a person in the console."""
    path = changed(tmp_path, "ec2_published", {"tags": {"CostCenter": "4711", key: "x"}})
    with pytest.raises(SpecError, match=rf"tags: .*{key}: `Name`, `benchlab:\.\.\.`"):
        topology.load(path)


def test_the_client_of_a_cluster_has_its_own_tags(tmp_path: Path) -> None:
    """As a fleet on EC2 has."""
    client = {"instance_type": "m5.large", "image": {"id": "ami-0"}, "user": "admin"}
    change = {"client": {**client, "tags": {"CostCenter": "4711"}}}
    found = topology.on_ec2(topology.load(changed(tmp_path, "tidb_cloud_first", change)))
    assert found is not None
    assert found.tags == {"CostCenter": "4711"}
