"""Objects of campaigns that have ended: sealed in an archive, read as before, and never lost."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from fsspec.implementations.memory import MemoryFileSystem
from upath import UPath

from benchlab.errors import AwayError, StoreError
from benchlab.patience import LIMIT_S, Patience
from benchlab.results.objects import Objects
from benchlab.results.store import Store
from tests.builders import campaigns

KINDS = (".txt", ".csv", ".hosts.csv")
CONTENTS = {
    f"c1/r{number}-a1{kind}": f"{number} {kind}\n".encode() * 200
    for number in (1, 2, 3)
    for kind in KINDS
}
MORE = {"c1/r1-a2.txt": b"measured again\n"}


def objects(root: UPath, contents: dict[str, bytes] = CONTENTS) -> Objects:
    """The objects of a campaign below a root."""
    made = Objects(root)
    for name, content in contents.items():
        made.write(name, content)
    return made


def read(root: UPath, names: dict[str, bytes] = CONTENTS) -> dict[str, bytes]:
    """What another process reads."""
    other = Objects(root)
    try:
        return {name: other.read(name) for name in names}
    finally:
        other.close()


def names(root: UPath) -> list[str]:
    """The files of the campaign, without what no reader looks at."""
    return sorted(path.name for path in (root / "c1").iterdir() if path.name[0] != ".")


@pytest.fixture(params=["directory", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UPath]:
    """A place for objects."""
    if request.param == "directory":
        yield UPath(tmp_path / "objects")
        return
    place = UPath(f"memory://sealed-{os.getpid()}")
    yield place
    place.fs.rm(place.path, recursive=True)


def test_sealed_objects_are_read_as_before(root: UPath) -> None:
    """One file is left of nine, a tenth of their size; readers name objects as they always did."""
    made = objects(root)
    made.seal("c1", CONTENTS)
    (archive,) = (root / "c1").iterdir()
    assert archive.stat().st_size < sum(map(len, CONTENTS.values())) / 3
    assert {name: made.read(name) for name in CONTENTS} == CONTENTS == read(root)
    with pytest.raises(StoreError, match=r"c1/r9-a1\.txt: cannot be read: it does not exist"):
        made.read("c1/r9-a1.txt")
    made.close()


def test_a_name_that_a_damaged_store_gives_is_refused(root: UPath) -> None:
    """No file system takes it, each with an error of its own."""
    with pytest.raises(StoreError, match="is not the name of an object"):
        objects(root).read("c1/r1\0.txt")
    assert not objects(root).has("c1/r1\0.txt")


def test_what_is_measured_later_is_sealed_beside_it(root: UPath) -> None:
    """A campaign that was resumed has two archives; sealing a third time changes nothing."""
    objects(root).seal("c1", CONTENTS)
    first = names(root)
    made = objects(root, MORE)
    assert read(root, CONTENTS | MORE) == CONTENTS | MORE
    made.seal("c1", CONTENTS | MORE)
    second = names(root)
    assert set(first) < set(second)
    assert len(second) == 2
    made.seal("c1", CONTENTS | MORE)
    made.close()
    assert names(root) == second
    assert read(root, CONTENTS | MORE) == CONTENTS | MORE


def test_a_reader_is_not_disturbed_by_sealing(root: UPath) -> None:
    """It may have read some objects before and reads the others after."""
    reader, writer = Objects(root), objects(root)
    some, *others = CONTENTS
    assert reader.read(some) == CONTENTS[some]
    writer.seal("c1", CONTENTS)
    assert [reader.read(name) for name in others] == [CONTENTS[name] for name in others]
    reader.close()
    writer.close()


def test_only_what_is_named_is_sealed(root: UPath) -> None:
    """A file that a trial left that is not in the store may be written again, and stays."""
    made = objects(root, CONTENTS | MORE)
    made.seal("c1", CONTENTS)
    made.close()
    assert len(names(root)) == 2
    assert "r1-a2.txt" in names(root)


def test_a_removed_campaign_leaves_nothing(root: UPath) -> None:
    """Nor can anything of it be read."""
    made = objects(root)
    made.seal("c1", CONTENTS)
    made.read(next(iter(CONTENTS)))
    made.remove_all("c1")
    assert not (root / "c1").exists()
    with pytest.raises(StoreError, match="cannot be read"):
        made.read(next(iter(CONTENTS)))
    made.remove_all("c1")


def killed(root: UPath, step: int) -> bool:
    """Whether a process that seals is killed before it takes this step in the file system."""
    child = os.fork()
    if not child:
        taken = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal taken
            if event in ("open", "os.rename", "os.remove") and "/c1" in str(arguments[0]):
                taken += 1
                if taken == step:
                    os._exit(9)

        sys.addaudithook(count)
        Objects(root).seal("c1", CONTENTS)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


@pytest.mark.fault(
    "a process is killed at any step of packing a campaign's objects",
    promise="every object can be read, and the next process packs the rest",
    of="processes",
)
def test_a_kill_between_any_two_steps_loses_nothing(tmp_path: Path) -> None:
    """Every object can be read after it, and the next process seals what is left, into one file."""
    root, step = UPath(tmp_path), 0
    while True:
        step += 1
        objects(root)
        was_killed = killed(root, step)
        assert read(root) == CONTENTS, step
        Objects(root).seal("c1", CONTENTS)
        assert len(names(root)) == 1
        assert read(root) == CONTENTS, step
        if not was_killed:
            break
        shutil.rmtree(tmp_path / "c1")
    # Each file is read and removed; the archive is written, and appears.
    assert step > 2 * len(CONTENTS) + 2


@pytest.mark.fault(
    "two processes pack a campaign's objects at once",
    promise="nothing is lost",
    of="results",
)
def test_processes_that_seal_at_once_lose_nothing(tmp_path: Path) -> None:
    """All objects are in archives in the end, none is beside them."""
    root = UPath(tmp_path)
    objects(root)
    ready = threading.Barrier(4)

    def seal() -> None:
        made = Objects(root)
        ready.wait()
        made.seal("c1", CONTENTS)
        made.close()

    sealing = [threading.Thread(target=seal) for _ in range(4)]
    for thread in sealing:
        thread.start()
    for thread in sealing:
        thread.join()
    assert not [name for name in names(root) if not name.startswith("sealed-")]
    assert read(root) == CONTENTS


@pytest.mark.fault("an archive of objects is damaged", promise="the file is named", of="results")
@pytest.mark.parametrize("kept", [0, 60, -30], ids=["empty", "cut", "without its end"])
def test_a_damaged_archive_is_named(tmp_path: Path, kept: int) -> None:
    """A reader is told which file cannot be read, with no traceback."""
    root = UPath(tmp_path)
    objects(root).seal("c1", CONTENTS)
    (archive,) = (tmp_path / "c1").iterdir()
    archive.write_bytes(archive.read_bytes()[:kept])
    with pytest.raises(StoreError, match=r"c1/r1-a1\.txt: cannot be read"):
        read(root)


def test_a_place_that_cannot_be_written_keeps_its_files(tmp_path: Path) -> None:
    """The error names the campaign's folder; nothing is gone."""
    root = UPath(tmp_path)
    made = objects(root)
    archive = next(iter(CONTENTS))
    (tmp_path / archive).unlink()
    (tmp_path / archive).mkdir()
    with pytest.raises(StoreError, match="c1: cannot be sealed"):
        made.seal("c1", CONTENTS)
    rest = {name: content for name, content in CONTENTS.items() if name != archive}
    assert read(root, rest) == rest


def test_a_store_seals_what_its_trials_name(tmp_path: Path) -> None:
    """Nothing of a trial that is not in the store yet."""
    record = campaigns.campaign()
    trial = campaigns.trial_result(record.plan.trials[0])
    with Store("sqlite://", UPath(tmp_path)) as store:
        store.add_campaign(record)
        store.add_trial("c1", dataclasses.replace(trial, raw="c1/r1-a1.txt", series="c1/r1-a1.csv"))
        objects(UPath(tmp_path))
        store.seal("c1")
        left = {path.name for path in (tmp_path / "c1").iterdir()}
        assert {"r1-a1.txt", "r1-a1.csv"}.isdisjoint(left)
        assert "r1-a1.hosts.csv" in left
        assert {name: store.read_bytes(name) for name in CONTENTS} == CONTENTS


@pytest.mark.fault(
    "S3 does not answer while objects are written, listed, packed or removed",
    promise="it is asked again, as the database is, and nothing is lost",
    of="results",
)
def test_an_object_store_that_does_not_answer_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operation finds the connection closed twice; without patience it is an error."""
    left = [0]

    def unanswered(method: str) -> None:
        real = getattr(MemoryFileSystem, method)

        def asked(*arguments: Any, **named: Any) -> Any:
            if left[0]:
                left[0] -= 1
                raise EndpointConnectionError(endpoint_url="https://s3.example.org")
            return real(*arguments, **named)

        monkeypatch.setattr(MemoryFileSystem, method, asked)

    for method in ("_open", "find", "rm_file"):
        unanswered(method)
    pauses: list[float] = []
    place = UPath(f"memory://away-{os.getpid()}")
    url, campaign = f"sqlite:///{tmp_path}/results.db", campaigns.campaign(rounds=1, threads=[4])
    with Store(url, place, Patience(LIMIT_S, pauses.append)) as store:
        store.add_campaign(campaign)

        def away(work: Callable[[], Any]) -> Any:
            left[0] = 2
            found = work()
            assert left == [0]
            return found

        result, *_ = campaigns.results_of(campaign.plan)
        name = away(lambda: store.write_bytes("c1/r1.txt", b"raw"))
        store.add_trial(campaign.id, dataclasses.replace(result, raw=name))
        assert away(lambda: store.read_bytes(name)) == b"raw"
        assert away(lambda: store.objects_below("c1")) == {name: 3}
        away(lambda: store.seal(campaign.id))
        assert store.read_bytes(name) == b"raw"
        store.write_bytes("c1/more.txt", b"more")
        away(lambda: store.remove_objects(["c1/more.txt"]))
        assert pauses == 5 * [1, 2]
        store.patience.limit_s, left[0] = 0.0, 1
        with pytest.raises(AwayError, match=r"cannot be written: .*s3\.example\.org"):
            store.write_bytes("c1/r2.txt", b"raw")
    place.fs.rm(place.path, recursive=True)
