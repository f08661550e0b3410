"""Feeds mutations of real inputs to whatever reads what others wrote, and names what breaks.

    python -m tests.fuzzing [--mutations 10000] [--seed 1] [--only evidence] [--to build/fuzz]

What reads refuses with one of Benchlab's errors, or reads: no other exception, at most 5 s of CPU,
at most 500 MB more memory. What breaks that promise is printed and its input kept in ``--to``. The
same seed gives the same mutations.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import lzma
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from benchlab import workloads
from benchlab.analysis.elsewhere import file as elsewhere
from benchlab.campaign import overrides, report_types
from benchlab.engines import mariadb_counts
from benchlab.engines.tidb import (
    counts,
    leaders,
    mirror,
    stalls,
    statements,
    status,
    tiup,
    topology,
)
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.hosts import counters, samples, server_login, ssh_login
from benchlab.hosts.answers import from_json
from benchlab.plan import pricing, releases, report_type, versions
from benchlab.plan import topology as topologies
from benchlab.published import page
from benchlab.report import evidence, gate_files
from benchlab.report.evidence import contents
from benchlab.report.formats import csv_text
from benchlab.report.notifications import notifiers
from benchlab.results import backup, pprof
from benchlab.results.store import Store
from benchlab.targets import haproxy
from benchlab.targets.ec2 import console
from tests.builders import campaigns, published_page
from tests.builders.evidence import counted_bundle, files_of

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
MOST_S, MOST_BYTES = 5.0, 500 << 20
# Larger ones are cut: a page of metrics has 600 KB, of which each kilobyte is like the next one.
LONGEST = 40_000
TOKENS = [
    *(b"", b"\0", b"\n", b"\t", b" ", b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf", "\u2028é٣１".encode()),
    *(b"0", b"-1", b"1e999", b"NaN", b"Infinity", b"-0", b"1" * 5000, b"9" * 19, b"0x1f", b"1_000"),
    *(b"2026-02-30", b"99:99", b"null", b"true", b"~", b"!!python/object:os.system", b"<<: *a"),
    *(b"&a [*a, *a]", b"[" * 3000, b"{" * 3000, b"(" * 3000, b"a: " * 300, b"- " * 500),
    *(b"../../../etc/passwd", b"/etc/passwd", b"%s%n", b"{}", b"[]", b'"', b"'", b"\\", b"$(x)"),
]


class TooLongError(BaseException):
    """It took more than :data:`MOST_S` seconds of CPU."""


@dataclass(frozen=True)
class Reader:
    """Something that reads what others wrote.

    Attributes:
        seeds: real inputs.
        read: reads one.
        share: how many of the mutations it gets, as a fraction: some are slow.
    """

    name: str
    seeds: Sequence[bytes]
    read: Callable[[bytes], object]
    share: float = 1.0


@dataclass(frozen=True)
class Broken:
    """A promise that a reader broke, with the input."""

    reader: str
    why: str
    at: str
    content: bytes


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A few changes of a real input."""
    made = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        _CHANGES[chance.randrange(len(_CHANGES))](chance, made, seeds)
    return bytes(made)


def _place(chance: random.Random, made: bytearray, most: int = 64) -> slice:
    begin = chance.randint(0, len(made))
    return slice(begin, begin + chance.randint(0, chance.choice((1, 8, most))))


def _flip(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    if made:
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)


def _cut(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    del made[chance.randint(0, len(made)) :]


def _lose(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    del made[_place(chance, made, 2000)]


def _insert(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    made[_place(chance, made)] = chance.choice(TOKENS)


def _take_over(chance: random.Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    other = chance.choice(seeds)
    made[_place(chance, made, 500)] = other[_place(chance, bytearray(other), 500)]


def _move_lines(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    lines = made.split(b"\n")
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    made[:] = b"\n".join(lines)


def _repeat(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    place = _place(chance, made, 300)
    made[place] = made[place] * chance.choice((2, 3, 50))


def _replace_word(chance: random.Random, made: bytearray, _: Sequence[bytes]) -> None:
    """A number or a word, as a whole."""
    words = [*_WORD.finditer(made)]
    if words:
        found = chance.choice(words)
        made[found.start() : found.end()] = chance.choice(TOKENS)


_WORD = re.compile(rb"[\w.+-]+")
_CHANGES = (
    _flip,
    _cut,
    _lose,
    _insert,
    _take_over,
    _move_lines,
    _repeat,
    _replace_word,
    _replace_word,
)


# ---------------------------------------------------------------- what reads


def golden(pattern: str) -> list[bytes]:
    """Recorded inputs."""
    found = []
    for path in sorted(GOLDEN.glob(pattern)):
        content = path.read_bytes()
        found.append((lzma.decompress(content) if path.suffix == ".xz" else content)[:LONGEST])
    assert found, pattern
    return found


def house(pattern: str) -> list[bytes]:
    """Files of the house's configuration."""
    found = [path.read_bytes() for path in sorted((ROOT / "configs").glob(pattern))]
    assert found, pattern
    return found


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Reads what a program or a host printed, whose bytes are decoded when they arrive."""
    return lambda content: read(content.decode(errors="replace"))


def of_file(read: Callable[[Path], object], path: Path) -> Callable[[bytes], object]:
    """Reads a file that a person names."""

    def read_it(content: bytes) -> object:
        path.write_bytes(content)
        return read(path)

    return read_it


def of_json(read: Callable[[str, Any], object]) -> Callable[[bytes], object]:
    """Reads a server's answer as JSON, which is refused where it is none."""

    def read_it(content: bytes) -> object:
        try:
            answer = from_json(content)
        except ValueError:
            return None
        return read("http://10.0.0.1:2379/", answer)

    return read_it


def readers(folder: Path) -> Iterator[Reader]:
    """All of them; they write below ``folder`` only."""
    recorded = [*golden("sysbench/*.txt"), *golden("tp*/*.txt"), *golden("ycsb/*.txt")]
    for name, parse in workloads.parsers().items():
        yield Reader(f"client {name}", recorded, of_text(parse))
    yield from _of_people(folder)
    yield from _of_servers()
    yield from _of_archives(folder)


def _of_people(folder: Path) -> Iterator[Reader]:
    """Files that people write, and what they type."""
    trials = (
        b"campaign,workload,threads,round,side,tps,p95_ms,deployment\n"
        b'c1,oltp_read_write,4,1,baseline,"1,000.5",2.5,1\n'
        b"c1,oltp_read_write,4,1,candidate,1010,2.4,1\nc1,oltp_read_write,8,2,baseline,2000,3,2\n"
    )
    here = folder / "people"
    here.mkdir()
    yield Reader(
        "report type",
        house("reports/*.yaml"),
        of_file(report_types.load, here / "report.yaml"),
    )
    yield Reader(
        "published plan", house("published/*.yaml"), of_file(report_type.load, here / "plan.yaml")
    )
    yield Reader("topology", house("topologies/*.yaml"), of_file(topologies.load, here / "t.yaml"))
    yield Reader("gates", house("quality/*.yaml"), of_file(gate_files.load, here / "gates.yaml"))
    told = of_file(partial(notifiers.load, reports=["tpcc_ec2"]), here / "notifications.yaml")
    yield Reader("notifications", house("notifications.yaml"), told)
    yield Reader("prices", house("prices.csv"), of_file(pricing.load, here / "prices.csv"))
    yield Reader("releases", house("releases.csv"), of_file(releases.load, here / "releases.csv"))
    yield Reader("trials elsewhere", [trials], of_file(elsewhere.read, here / "trials.csv"))
    pages = [published_page.page(("Point Select", published_page.PAIRS)).encode()]
    pages += [published_page.page(("`Read Write` test", published_page.METRICS)).encode()]
    yield Reader("published page", pages, lambda content: page.read(content, "page.md"))
    for name, read in {"version": versions.parse, "version rule": versions.parse_rule}.items():
        yield Reader(name, [b"v8.5.3", b"newest 6.5", b"previous", b"last good"], of_text(read))
    given = [b"rounds=2", b"dataset.tables=4", b"publish=[{to: files}]", b"engines.tidb={a: 1}"]
    yield Reader(
        "--set", given, of_text(lambda text: overrides.parse_assignments(text.split("\n")))
    )
    login = [b"mysql://user:secret@db.example.com:4000/sbtest?ssl_ca=/etc/ca.pem", b'{"host": "h"}']
    yield Reader("server's login", login, of_text(partial(server_login.from_text, "db")))
    key = [b"ssh://tidb@10.0.0.1:22?key=/root/key", b'{"host": "h", "login": "u", "extra": {}}']
    yield Reader("host's login", key, of_text(partial(ssh_login.from_text, "host")))


def _of_servers() -> Iterator[Reader]:
    """What hosts, servers and TiUP answer."""
    yield Reader(
        "profile",
        golden("pprof/*"),
        lambda content: pprof.parse("cpu.pb.gz", content),
    )
    folded = [b"main;work;runtime.mallocgc 12\nmain;idle 3\n", b"a;b;c 1\r\na;b 2\r\n"]
    yield Reader("folded stacks", folded, lambda content: pprof.parse("cpu.folded", content))
    for role in ("tikv", "tidb", "pd"):
        metrics = [
            m + f"\n{counts.WHOLE}\n".encode() for m in golden(f"prometheus/{role}_*.txt.xz")
        ]
        yield Reader(f"metrics of {role}", metrics, of_text(partial(counts.read, role)), 0.2)
    stalled = golden("prometheus/tikv_*.txt.xz")
    yield Reader("write stalls", stalled, of_text(stalls.read_counters), 0.2)
    mariadb = [b"Questions\t12\nCom_show_status\t1\nticks: 100\n1 (mariadbd) S " + b"7 " * 50]
    yield Reader("counters of MariaDB", mariadb, of_text(mariadb_counts.read))
    lines = (
        "id\ttask\testRows\toperator info",
        "Point_Get_1\troot\t1\ttable:t1, handle:7",
        "└─TableRangeScan_5\tcop[tikv]\t1\ttable:sbtest1, range:[1,'x\"']",
    )
    plan = ["\n".join(f"\t{line}" for line in lines).encode()]
    yield Reader("plan of a statement", plan, of_text(statements.read_plan))
    sample = [b'SELECT c FROM t WHERE id=? [arguments: (7, "a", NULL)]', b"UPDATE t SET a=1(len:9)"]
    yield Reader("statement", sample, of_text(statements.executable))
    listed = [
        (
            b"Available versions for tidb:\nVersion  Installed  Release                 Platforms\n"
            b"-------  ---------  -------  ---------\nnightly -> v9.0.0-pre 2026-01-01\n"
            b"v8.5.3  YES  2025-08-14T02:33:25Z  darwin/amd64,linux/amd64\n"
        )
    ]
    yield Reader("TiUP's versions", listed, of_text(mirror.read))
    yield Reader("TiUP's clusters", golden("tiup/list.json"), of_text(tiup.read_list))
    shown = golden("tiup/*.yaml")
    yield Reader(
        "TiUP's topology", shown, of_text(lambda text: topology.with_configs(text, {"tidb": {}}))
    )
    stores = [
        (
            b'{"count":1,"stores":[{"store":{"id":1,"address":"10.0.0.1:20160","version":"6.5.0",'
            b'"git_hash":"a","start_timestamp":1669,"state_name":"Up"},"status":{"leader_count":10}}]}'
        )
    ]
    yield Reader("PD's stores", stores, of_json(status.read_stores))
    regions = [
        (
            b'{"count":1,"regions":[{"id":2,"start_key":"7480000000000000FF6500000000000000F8",'
            b'"end_key":"","peers":[{"id":3,"store_id":1,"role_name":"Voter"}],"leader":{"id":3,'
            b'"store_id":1},"pending_peers":[{"id":4}],"down_peers":[{"peer":{"id":5}}]}]}'
        )
    ]
    yield Reader("PD's regions", regions, of_json(leaders.read_regions))
    tables = [b'[{"id":104,"name":{"O":"sbtest1","L":"sbtest1"},"partition":null}]']
    yield Reader("TiDB's tables", tables, of_json(status.read_table_ids))
    about = golden("tiup/tidb_v6.5.0_status.json")
    yield Reader(
        "TiDB's status",
        about,
        of_json(lambda where, answer: status.read_tidb(where, answer, answer)),
    )
    yield Reader(
        "HAProxy",
        golden("haproxy/*.csv"),
        _refusing_value_errors(of_text(haproxy.parse_statistics)),
    )
    booted = [
        b"BENCHLAB-READY\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHc root@ip\n",
        b"BENCHLAB-FAILED: x",
    ]
    yield Reader("console", booted, of_text(console.parse))
    yield Reader("host metrics", golden("hosts/*.txt"), of_text(samples.parse))
    yield Reader("counters", golden("hosts/*.txt"), of_text(partial(counters.parse, servers=["a"])))


def _of_archives(folder: Path) -> Iterator[Reader]:
    """Evidence and backups of others."""
    here = folder / "archives"
    here.mkdir()
    good = counted_bundle(here)
    verify = of_file(evidence.verify, here / "evidence.zip")
    yield Reader("evidence", [good], verify)
    files = files_of(good)
    names = [name for name in files if not name.startswith("report/")]

    def forged(name: str, content: bytes) -> object:
        """The hashes are those of the changed files, so that all of them are read."""
        changed = {k: v for k, v in {**files, name: content}.items() if k != contents.MANIFEST}
        if name == contents.MANIFEST:
            return verify(contents.zipped({**changed, name: content}))
        said = json.loads(files[contents.MANIFEST])
        return verify(contents.packed(said["campaign"], changed, said["redacted"]))

    for kind in ("campaign.json", "trials.json", contents.MANIFEST, ".txt", ".csv", ".yaml"):
        name = next(name for name in names if name.endswith(kind))
        yield Reader(f"evidence with {kind}", [files[name]], partial(forged, name), 0.05)
    yield Reader("bombs", BOMBS, of_file(evidence.verify, here / "evidence.zip"), 0.02)
    trials = next(files[name] for name in files if name.endswith("trials.csv"))
    yield Reader("trials of a report", [trials], of_file(elsewhere.read, here / "trials.csv"))
    yield Reader("samples of a report", [trials], _refusing_value_errors(csv_text.read))
    yield from _backups(here)


def _refusing_value_errors(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """Reads what its callers name as unreadable where it raises these."""

    def read_it(content: bytes) -> object:
        with contextlib.suppress(ValueError, csv.Error):
            return read(content)
        return None

    return read_it


def bomb(size: int, times: int, name: str = contents.MANIFEST) -> bytes:
    """An archive whose files unpack to far more than it has."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for number in range(times):
            with opened.open(name if number == 0 else f"raw/{number}", "w") as file:
                for _ in range(max(size >> 20, 1)):
                    file.write(bytes(min(size, 1 << 20)))
    return buffer.getvalue()


BOMBS = [bomb(600 << 20, 1), bomb(80 << 20, 12), bomb(10, 20_000)]


def _backups(here: Path) -> Iterator[Reader]:
    """A backup whose manifest, database or objects somebody changed."""
    home = Home(ROOT, here / "home")
    with Store(home.store_url, home.objects) as store:
        made = campaigns.campaign(rounds=1)
        store.add_campaign(made)
        for result in campaigns.results_of(made.plan):
            raw = store.write_bytes(f"c1/{result.trial.id}-a1.txt", b"raw")
            store.add_trial("c1", type(result)(**{**vars(result), "raw": raw}))
    (home.reports / "c1").mkdir(parents=True)
    (home.reports / "c1" / "report.md").write_text("# report\n")
    kept = here / "backup"
    backup.make(home, kept, (), lambda text: None)
    for name, share in ((backup.MANIFEST, 0.5), ("results.db", 0.2)):
        yield Reader(
            f"backup with {name}",
            [(kept / name).read_bytes(), *_TRAVERSALS]
            if share == 0.5
            else [(kept / name).read_bytes()],
            partial(_restore, kept, name, here / "restored"),
            share,
        )


_TRAVERSALS = [
    json.dumps(
        {
            "benchlab": "1",
            "revision": "x",
            "at": "2026",
            "rows": {"campaigns": 1, "trials": 1},
            "files": {name: 1},
            "missing": 0,
        }
    ).encode()
    for name in ("home/..", "/etc", "home/../../x", "objects/../../..", "", ".")
]


def _restore(kept: Path, name: str, to: Path, content: bytes) -> None:
    shutil.rmtree(to, ignore_errors=True)
    copy = to / "backup"
    shutil.copytree(kept, copy)
    (copy / name).write_bytes(content)
    outside = {*to.parent.iterdir()}
    (to / "home").mkdir()
    try:
        backup.restore(Home(ROOT, to / "home" / "new"), copy, lambda text: None)
    finally:
        assert {*to.parent.iterdir()} == outside, "it wrote outside of its home"
        assert {*to.iterdir()} == {copy, to / "home"}, "it wrote outside of its home"


# ---------------------------------------------------------------- the promises


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """At most so much CPU; the memory is bounded for the whole process."""

    def ended(_: int, frame: FrameType | None) -> None:
        raise TooLongError(f"more than {MOST_S:g} s of CPU, in {frame and frame.f_code.co_name}")

    before = signal.signal(signal.SIGVTALRM, ended)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def broken(reader: Reader, content: bytes) -> Broken | None:
    """The promise that a reader breaks with this input; None: it keeps all."""
    try:
        with bounded():
            reader.read(content)
    except BenchlabError:
        return None
    except (Exception, TooLongError) as error:  # noqa: BLE001 - what is looked for
        found = traceback.extract_tb(error.__traceback__)
        where = next((one for one in reversed(found) if "/benchlab/" in one.filename), found[-1])
        at = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        return Broken(reader.name, str(error)[:300], at, content)
    return None


def run(mutations: int, seed: int, only: str = "") -> Iterator[Broken]:
    """Feed all readers; each begins with its real inputs."""
    with tempfile.TemporaryDirectory() as folder:
        for reader in readers(Path(folder)):
            if only not in reader.name:
                continue
            chance = random.Random(f"{seed} {reader.name}")
            inputs = [*reader.seeds]
            for number in range(len(inputs) + max(int(mutations * reader.share), 1)):
                content = inputs[number] if number < len(inputs) else mutated(chance, reader.seeds)
                if found := broken(reader, content):
                    yield found
            print(f"{reader.name}: done", file=sys.stderr, flush=True)


def main() -> int:
    """Print what broke a promise; 1 if anything did."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "fuzz")
    asked = parser.parse_args()
    said = Path("/proc/self/status").read_text().partition("VmData:")[2]
    used = int(said.split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + MOST_BYTES, used + MOST_BYTES))
    times = Counter[str]()
    for found in run(asked.mutations, asked.seed, asked.only):
        what = f"{found.reader}: {found.at}"
        times[what] += 1
        if times[what] == 1:
            asked.to.mkdir(parents=True, exist_ok=True)
            file = asked.to / f"{found.reader.replace(' ', '-').replace('/', '-')}-{len(times)}"
            file.write_bytes(found.content)
            print(f"{what}: {found.why}\n  {file}", flush=True)
    return 1 if times else 0


if __name__ == "__main__":
    sys.exit(main())
