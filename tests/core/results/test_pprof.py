"""Profiles in pprof's format: recorded ones are read whole, broken ones say what is wrong."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.errors import SpecError
from benchlab.results.pprof import Profile, SampleType, read, together
from tests.builders.profiles import RECORDED, message, profile_bytes

CPU = SampleType("cpu", "nanoseconds")


def written(folder: Path, content: bytes) -> Path:
    """A file with this content."""
    path = folder / "cpu.pb.gz"
    path.write_bytes(content)
    return path


def test_a_profile_of_tidb_has_the_totals_that_pprof_shows() -> None:
    """Recorded from v8.5.3; `go tool pprof -top` gives the same sum and the same first function."""
    profile = read(RECORDED / "tidb_cpu.pb.gz")
    assert profile.types == (SampleType("samples", "count"), CPU)
    assert (profile.default, profile.period) == ("cpu", 10_000_000)
    own: dict[str, int] = {}
    for stack, value in profile.values(CPU).items():
        own[stack[-1]] = own.get(stack[-1], 0) + value
    assert sum(own.values()) == profile.samples(CPU) * profile.period == 30_690_000_000
    assert max(own, key=own.__getitem__) == "internal/runtime/syscall/linux.Syscall6"


def test_functions_of_tidb_have_the_names_of_all_its_releases() -> None:
    """From v7.4 on its packages are in a folder: v6.5 and v8.5 would have none in common."""
    stacks = read(RECORDED / "tidb_cpu.pb.gz").stacks
    names = {name for stack in stacks for name in stack}
    assert any(name.startswith("github.com/pingcap/tidb/server.") for name in names)
    assert not [name for name in names if "/tidb/pkg/" in name]


def test_allocations_have_four_types_and_a_number_of_samples() -> None:
    """One sample in 524,288 bytes: what is told in bytes was seen about a hundred times."""
    profile = read(RECORDED / "pd_allocs.pb.gz")
    names = [one.name for one in profile.types]
    assert names == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    assert profile.default == "alloc_space"
    assert sum(profile.values(SampleType("alloc_space", "bytes")).values()) == 52_361_715
    assert profile.samples(profile.types[1]) == pytest.approx(52_361_715 / 524_288)
    in_use = sum(profile.values(profile.types[3]).values())
    assert profile.samples(profile.types[2]) == pytest.approx(in_use / 524_288)


def test_contentions_are_counted_one_by_one() -> None:
    """Of mutexes, nothing is scaled up."""
    profile = read(RECORDED / "pd_mutex.pb.gz")
    assert {profile.samples(one) for one in profile.types} == {35}


def test_threads_of_tikv_are_seen_where_its_stacks_are_not() -> None:
    """Its profile is not gzipped; a sample without a stack is known by its thread."""
    profile = read(RECORDED / "tikv_cpu.pb")
    assert profile.samples(profile.types[1]) == 230
    by_thread: dict[str, int] = {}
    for stack, (count, _) in profile.stacks.items():
        by_thread[stack[0]] = by_thread.get(stack[0], 0) + count
    assert sum(by_thread.values()) == 230
    assert by_thread["[thread raftstore]"] >= 34


def test_inlined_functions_and_functions_without_a_name(tmp_path: Path) -> None:
    """A location of two lines is two frames; a hash of Rust goes; an address is no name."""
    frames = [["inner", "outer"], ["seek::h0123456789abcdef"], [], [""]]
    profile = read(written(tmp_path, profile_bytes({(4, 1, 2): 3, (3,): 1}, frames)))
    assert profile.stacks == {
        ("seek", "outer", "inner", "[no name, in tidb-server]"): (3,),
        ("[no name, in tidb-server]",): (1,),
    }


def test_equal_stacks_are_one(tmp_path: Path) -> None:
    """The same functions at other addresses are added up."""
    profile = read(written(tmp_path, profile_bytes({(1,): 3, (2,): 4}, [["f"], ["f"]])))
    assert profile.stacks == {("f",): (7,)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty; was the server idle?"),
        (message((12, 1)), "it says of no value what it is"),
        (b"<html>404</html>", "it ends early, or is not in protobuf's format"),
        (b"heap profile: 1: 2", ""),
        (gzip.compress(profile_bytes({(1,): 3}, [["f"]]), mtime=0)[:-9], "its gzip data end early"),
        (b"\x1f\x8b" + bytes(20), "its gzip data are damaged"),
        (profile_bytes({(1,): 3}, [["f"]])[:-3], "ends early"),
        (profile_bytes({(9,): 3}, [["f"]]), "it refers to 9, which it lacks"),
        (profile_bytes({(1,): 0}, [["f"]]), "it has no samples; was the server idle?"),
        (profile_bytes({(1,): 3}, [["f"]]) + message((2, message((1, 1)))), "0 values, not 1"),
        (zlib.compress(bytes(20 << 20), wbits=31), "it is larger than 16 MB"),
        (
            profile_bytes(dict.fromkeys([(1,) * n for n in range(1, 100)], 1), [["f"] * 1000]),
            "its stacks have more than 4,000,000 frames",
        ),
    ],
)
def test_a_broken_profile_names_the_file_and_the_fault(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """Whatever a server answered: no traceback, and no more memory than a profile needs."""
    with pytest.raises(SpecError, match=r"cpu\.pb\.gz: is not a profile") as raised:
        read(written(tmp_path, content))
    assert said in str(raised.value)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_byte_leads_to_a_traceback(data: st.DataObject) -> None:
    """A profile with any few of its bytes changed or cut off is read or refused."""
    content = bytearray((RECORDED / "tikv_cpu.pb").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = Path("/dev/shm/benchlab-changed.pb")
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(SpecError):
        assert isinstance(read(path), Profile)
    path.unlink()


def test_a_type_that_a_profile_lacks_is_refused_with_those_it_has() -> None:
    """Named as pprof names them."""
    with pytest.raises(SpecError, match=r"tikv_cpu\.pb: has no samples of heap; it has: samples"):
        read(RECORDED / "tikv_cpu.pb").position("heap")


def test_folded_stacks_are_read_as_flame_graph_tools_write_them(tmp_path: Path) -> None:
    """Gzipped or not; equal stacks are added up, and samples are counted one by one."""
    text = b"main;parse tree<int, char>;next 3\nmain 1\nmain;parse tree<int, char>;next 2\r\n"
    for content in (text, gzip.compress(text, mtime=0)):
        profile = read(written(tmp_path, content))
        assert profile.stacks == {("main", "parse tree<int, char>", "next"): (5,), ("main",): (1,)}
        assert profile.samples(profile.types[0]) == 6


def test_a_line_of_folded_stacks_without_a_number_is_named(tmp_path: Path) -> None:
    """As where a file was cut."""
    with pytest.raises(SpecError, match=r"cpu\.pb\.gz: .*line 2 of its folded stacks"):
        read(written(tmp_path, b"main;work 3\nmain;wo"))


def test_profiles_of_several_servers_are_added_up() -> None:
    """Of the same types only: samples of CPU are no allocations."""
    one, other = read(RECORDED / "tidb_cpu.pb.gz"), read(RECORDED / "pd_allocs.pb.gz")
    both = together([one, one])
    assert both.samples(CPU) == 2 * one.samples(CPU)
    assert both.stacks.keys() == one.stacks.keys()
    with pytest.raises(SpecError, match="has other types of values than"):
        together([one, other])
