"""What servers report about themselves over HTTP, and which of it does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlab.engines.database import is_version
from benchlab.engines.tidb import status
from benchlab.engines.tidb.facts import InstanceFacts, misfits, without_places
from benchlab.errors import EngineError
from benchlab.hosts.executor import Completed
from tests.builders import fakes

URL = "pd-1: http://10.0.0.1:2379/pd/api/v1/..."
GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"


class Curl(fakes.FakeExecutor):
    """A host whose curl ends in one way."""

    def __init__(self, exit_code: int, stdout: str = "", stderr: str = "") -> None:
        super().__init__()
        self.ended = Completed(exit_code, stdout, stderr)

    def run(self, command: Sequence[str], **options: Any) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        self.commands.append(list(command))
        return self.ended


def test_a_real_tidb_is_read() -> None:
    """Version and commit, as v6.5.0 answered."""
    answer = json.loads((GOLDEN / "tidb_v6.5.0_status.json").read_text())
    server = status.read_tidb(URL, answer, {"ddl_id": "4f3c"})
    assert server.version == "5.7.25-TiDB-v6.5.0"
    assert server.git_hash == "706c3fa3c526cdba5b3e9f066b1a568fb96c56e3"
    assert server.identity == "4f3c"
    assert status.read_tidb(URL, answer, None).identity is None
    # A server's own doing while it runs (GOGC), and no other server.
    assert status.read_tidb(URL, answer, {"ddl_id": "4f3c", "gogc": 300}) == server


def stores(*leaders: int, state: str = "Up") -> tuple[status.Store, ...]:
    """Stores with these numbers of leaders, as PD documents its answer."""
    return status.read_stores(
        URL,
        {
            "count": len(leaders),
            "stores": [
                {
                    "store": {
                        "id": number,
                        "address": f"10.0.0.{number}:20160",
                        "version": "5.2.0",
                        "git_hash": "abc",
                        "start_timestamp": 1_669_000_000 + number,
                        "state_name": state,
                    },
                    "status": {"leader_count": count, "region_count": 3 * count},
                }
                for number, count in enumerate(leaders, start=1)
            ],
        },
    )


def test_stores_are_read() -> None:
    """Where they are, how they stand, what they hold, and since when they run."""
    first, _ = stores(10, 12)
    assert first == status.Store(
        "5.2.0", "abc", "1669000001", id=1, address="10.0.0.1:20160", state="Up", leaders=10
    )


def test_a_store_that_is_down_has_no_leaders() -> None:
    """PD leaves out its figures."""
    (store,) = status.read_stores(
        URL,
        {
            "stores": [
                {"store": {"id": 4, "address": "a:1", "version": "5.2.0", "state_name": "Down"}}
            ]
        },
    )
    assert (store.state, store.leaders, store.identity) == ("Down", 0, None)


def test_pds_unhealthy_members_are_named() -> None:
    """By name, as PD calls them."""
    answer = [{"name": "pd-1", "health": True}, {"name": "pd-2", "health": False}]
    assert status.read_unhealthy(URL, answer) == ["pd-2"]


def test_what_proto3_leaves_out_is_its_zero() -> None:
    """A member that says nothing of its health is not healthy; a store without figures leads none;
    a PD without stores lists none.
    """
    assert status.read_unhealthy(URL, [{"name": "pd-1"}]) == ["pd-1"]
    assert status.read_stores(URL, {"count": 0}) == ()
    answer = {"stores": [{"store": UP, "status": {}}]}
    assert [store.leaders for store in status.read_stores(URL, answer)] == [0]


UP = {"id": 1, "address": "10.0.0.1:20160", "version": "8.5.3", "state_name": "Up"}


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: status.read_pd(URL, {}), "the field version has to be a text, and is missing"),
        (lambda: status.read_pd(URL, {"version": 8}), "version .* a text, and is 8"),
        (lambda: status.read_pd(URL, []), r"the answer has to be an object, and is \[\]"),
        (lambda: status.read_tidb(URL, {"git_hash": "a"}, None), "version .* is missing"),
        (lambda: status.read_tidb(URL, {"version": "v1", "git_hash": 5}, None), "git_hash .* is 5"),
        (lambda: status.read_tidb(URL, {"version": "v1"}, {"ddl_id": 5}), "ddl_id .* is 5"),
        (lambda: status.read_stores(URL, {"stores": {}}), r"stores .* a list, and is \{\}"),
        (lambda: status.read_stores(URL, {"stores": [{}]}), "the field store has to be an object"),
        (lambda: status.read_stores(URL, _stores(address=None)), "address .* is missing"),
        (lambda: status.read_stores(URL, _stores(state_name=None)), "state_name .* is missing"),
        (lambda: status.read_stores(URL, _stores(version=None)), "version .* is missing"),
        (
            lambda: status.read_stores(URL, _stores({"leader_count": "12"})),
            'leader_count .* a whole number, and is "12"',
        ),
        (lambda: status.read_unhealthy(URL, {"health": True}), "the answer has to be a list"),
        (lambda: status.read_unhealthy(URL, [{"health": False}]), "name .* is missing"),
        (lambda: status.read_unhealthy(URL, [{"name": "a", "health": "no"}]), "health .* true or"),
    ],
)
def test_an_answer_without_a_field_is_named(read: Callable[[], object], said: str) -> None:
    """The field, what is there instead, the host and the address: never a traceback."""
    with pytest.raises(EngineError, match=rf"pd-1: http://10\.0\.0\.1:2379/pd.*{said}"):
        read()


def _stores(figures: Mapping[str, Any] | None = None, **fields: Any) -> Mapping[str, Any]:
    return {"stores": [{"store": {**UP, **fields}, "status": figures or {}}]}


def test_a_configuration_has_dotted_names() -> None:
    """As parameters are written, with the values as text."""
    flat = status.flatten(
        {"log": {"level": "info", "file": {"max-size": 300}}, "labels": {}, "a": [1], "b": True}
    )
    assert flat == {"log.level": "info", "log.file.max-size": "300", "a": "[1]", "b": "true"}


URLS = ["http://10.0.0.1:10080/status", "http://10.0.0.1:10080/nothing", "http://10.0.0.2:1/x"]
PRINTED = (
    '{"version": "a"}\nbenchlab-http-code 200\n'
    "404 page not found\n\nbenchlab-http-code 404\n"
    "\nbenchlab-http-code 000\n"
)
REFUSED = "curl: (7) Failed to connect to 10.0.0.2 port 1"


def test_one_command_asks_many_servers() -> None:
    """An answer, a route that a version does not have, and no answer are three things."""
    curl = Curl(7, PRINTED, REFUSED)
    answers = status.ask(curl, URLS)
    assert answers.must(URLS[0]) == {"version": "a"}
    assert answers.get(URLS[1]) is None
    with pytest.raises(EngineError, match=r"10\.0\.0\.1:10080/nothing: there is no such route"):
        answers.must(URLS[1])
    with pytest.raises(EngineError, match=r"http://10\.0\.0\.2:1/x: no answer: .*Failed to conn"):
        answers.get(URLS[2])
    assert len(curl.commands) == 1
    assert "--noproxy" in curl.commands[0]  # a proxy is for the world outside


@pytest.mark.parametrize("code", ["500", "502", "503"])
def test_a_server_that_answers_with_an_error_is_as_good_as_silent(code: str) -> None:
    """Only 404 means that it has no such route; what it said is quoted."""
    printed = f"no leader\n\nbenchlab-http-code {code}\n"
    answers = status.read_answers(URLS[:1], printed, "")
    assert URLS[0] not in answers.found
    with pytest.raises(EngineError, match=rf"10080/status: HTTP {code}: no leader"):
        answers.get(URLS[0])


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("<html>", "not JSON"),
        ("[" * 20_000, "nested too deeply"),
        ("[" * 900 + "]" * 900, "nested too deeply"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested too deeply"),
        ("9" * 5_000, "not JSON"),
    ],
)
def test_an_answer_that_is_no_json_is_an_error(body: str, what: str) -> None:
    """Another program may listen there."""
    with pytest.raises(EngineError, match=f"10080/status: the answer is {what}"):
        status.read_answers(URLS[:1], f"{body}\nbenchlab-http-code 200\n", "")


def test_a_curl_that_cannot_be_read_is_an_error() -> None:
    """Answers are never taken for those of other servers."""
    with pytest.raises(EngineError, match="curl printed 1 answers"):
        status.read_answers(URLS, "{}\nbenchlab-http-code 200\n", "")


# ---------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("wanted", "reported", "same"),
    [
        ("v5.2.0", "5.7.25-TiDB-v5.2.0", True),
        ("v5.2.0", "8.0.11-TiDB-v5.2.0-dirty", True),
        ("v5.2.0", "v5.2.0", True),
        ("v5.2.0", "5.2.0", True),
        ("v5.2.0", "5.2.01", False),
        ("v5.2.0", "v5.2.1", False),
        ("v5.2.0", "15.2.0", False),
        ("v5.2.0", "5.2.0-alpha", False),
        ("v5.7.25", "5.7.25-TiDB-v5.2.0", False),
        ("v5.2.0-alpha", "5.2.0-alpha", True),
        ("v9.0.0-beta.2.pre-nightly", "8.0.11-TiDB-v9.0.0-beta.2.pre-1895-g5c91a2b", True),
        ("v9.0.0-beta.2.pre-nightly", "9.0.0-beta.2", True),
        ("v9.0.0-beta.2.pre-nightly", "8.0.11-TiDB-v9.0.1-beta.2.pre-1-g5c91a2b", False),
        ("v9.0.0-beta.2.pre-nightly", "8.0.11-TiDB-v8.5.7", False),
        ("v8.5.7-20260101-abcdef0", "8.0.11-TiDB-v8.5.7-20260101-abcdef0", True),
        ("v8.5.7-20260101-abcdef0", "8.5.7", True),
        ("v8.5.7-20260101-abcdef0", "8.5.70", False),
    ],
)
def test_every_component_is_the_version_that_was_asked_for(
    wanted: str, reported: str, same: bool
) -> None:
    """TiDB, PD and TiKV each write theirs in a way of their own."""
    assert is_version(wanted, reported) == same


def instance(**fields: Any) -> InstanceFacts:
    """A TiKV server like its peers, but for ``fields``."""
    config: Mapping[str, str] = {"log-level": "info", "storage.block-cache.capacity": "10GiB"}
    made = InstanceFacts("tikv-1", "tikv", "5.2.0", "abc", config, "1")
    return replace(made, **fields)


PEERS = (instance(), instance(host="tikv-2"))


def test_servers_that_are_alike_fit() -> None:
    """Each may have started at a time of its own."""
    assert misfits((*PEERS, instance(host="tikv-3", identity="9")), "v5.2.0", {}) == []


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"version": "5.1.1"}, "tikv on tikv-3 is version 5.1.1, not v5.2.0"),
        ({"git_hash": "def"}, "tikv on tikv-3 is built from def, its peers from abc"),
        (
            {"config": {"log-level": "debug", "storage.block-cache.capacity": "10GiB"}},
            "tikv on tikv-3 is configured unlike its peers: log-level = debug, not info",
        ),
        (
            {"config": None},
            "tikv on tikv-3 is configured unlike its peers: it does not report its own",
        ),
    ],
)
def test_the_one_server_that_differs_is_named(fields: dict[str, Any], sentence: str) -> None:
    """With what it is and what it ought to be."""
    assert misfits((*PEERS, instance(host="tikv-3", **fields)), "v5.2.0", {}) == [sentence]


BETWEEN = instance(version="v9.0.0-beta.2.pre-1895-g5c91a2b", git_hash="5c91a2b" + "0" * 33)


@pytest.mark.parametrize(
    ("hashes", "faults"),
    [
        ({"tikv": "5c91a2b" + "0" * 33}, []),
        ({"tikv": "5c91a2b"}, []),
        ({"tikv": None}, []),
        ({"tidb": "5c91a2b"}, ["is version v9.0.0-beta.2.pre-1895-g5c91a2b, not v8.5.7"]),
        ({"tikv": "1" * 40}, [f"is built from 5c91a2b{'0' * 33}, not from {'1' * 40}"]),
    ],
)
def test_a_build_is_known_by_its_commit_not_by_its_name(
    hashes: dict[str, str | None], faults: list[str]
) -> None:
    """Another commit is refused, whatever name it goes by; so is a component without a build."""
    said = [f"tikv on tikv-1 {fault}" for fault in faults]
    assert misfits([BETWEEN], "v8.5.7", hashes) == said


def test_a_commit_in_a_name_is_that_of_one_component() -> None:
    """TiUP names a version made between releases by one repository's commit."""
    made = instance(version="8.5.7", git_hash="abcdef0" + "1" * 33)
    other = instance(version="8.5.7", git_hash="f" * 40, component="tidb")
    assert misfits([made, other], "v8.5.7-20260101-abcdef0", {}) == []
    (fault,) = misfits([other], "v8.5.7-20260101-abcdef0", {})
    assert fault == "no server is built from abcdef0, as the name v8.5.7-20260101-abcdef0 says"


def test_what_follows_from_the_hosts_memory_may_differ() -> None:
    """Two machines of one kind differ by a few pages."""
    other = {"log-level": "info", "storage.block-cache.capacity": "10239MiB"}
    assert misfits((*PEERS, instance(host="tikv-3", config=other)), "v5.2.0", {}) == []


def test_what_says_where_a_server_lies_is_left_out() -> None:
    """Addresses, directories and ports differ between hosts and sides, and mean nothing."""
    config = {
        "addr": "0.0.0.0:20160",
        "advertise-addr": "10.0.0.1:20160",
        "pd": '["10.0.0.2:2379"]',
        "data-dir": "/data/c1/baseline/data/tikv-20160",
        "status-port": "20180",
        "port-like": "120160",
        "address-like": "110.0.0.1",
        "log-level": "info",
    }
    kept = without_places(
        config, ["10.0.0.1", "10.0.0.2"], "/data/c1/baseline", [20160, 20180, 2379]
    )
    assert kept == {"port-like": "120160", "address-like": "110.0.0.1", "log-level": "info"}


def test_the_digest_is_of_the_configuration() -> None:
    """The same for the same items in whatever order."""
    one = instance(config=json.loads('{"a": "1", "b": "2"}'))
    assert one.digest == instance(config={"b": "2", "a": "1"}).digest
    assert one.digest != instance(config={"a": "2", "b": "2"}).digest
    assert instance(config=None).digest is None
