"""The release calendar is read, merged and written; faults are named with their lines."""

from __future__ import annotations

import json
import tempfile
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab import engines
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan import releases, versions
from benchlab.plan.releases import Calendar
from benchlab.plan.versions import Release
from tests.builders.installation import Here

SHIPPED = find().configs / "releases.csv"
FEW = settings(max_examples=50)
HEADER = "version,release_date,type\n"


def of(text: str, day: str, kind: versions.ReleaseKind = "patch") -> Release:
    """One release."""
    return Release(versions.parse(text), date.fromisoformat(day), kind)


def file(path: Path, *lines: str, header: str = HEADER) -> Path:
    """A file of these lines."""
    path.write_text(header + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def written(path: Path) -> list[str]:
    """A calendar's rows."""
    return path.read_text(encoding="utf-8").splitlines()[1:]


def some_releases() -> st.SearchStrategy[list[Release]]:
    """Releases of both engines on few days, each version once, in any order."""

    def release(numbers: tuple[int, int, int], days: int, tidb: bool) -> Release:
        text = ("v" if tidb else "") + ".".join(map(str, numbers))
        kind: versions.ReleaseKind = "patch" if numbers[2] else "GA"
        return Release(versions.parse(text), date(2020, 1, 1) + timedelta(days), kind)

    small = st.integers(0, 3)
    one = st.builds(release, st.tuples(small, small, small), st.integers(0, 9), st.booleans())
    return st.lists(one, unique_by=lambda release: release.version.text, max_size=30)


# ---------------------------------------------------------------- the calendar that is shipped


def test_the_shipped_calendar_is_as_the_command_writes_it() -> None:
    """It need not be written by hand, and an update changes only what it adds."""
    calendar = releases.load(SHIPPED)
    assert calendar.to_csv() == SHIPPED.read_text(encoding="utf-8")


def test_every_release_is_of_one_engine() -> None:
    """TiDB's from v1.0.0 on, and the MariaDB releases that run on one machine."""
    calendar = releases.load(SHIPPED)
    tidb, mariadb = (calendar.owned(engines.by_name()[name].owns) for name in ("tidb", "mariadb"))
    assert len(tidb) + len(mariadb) == len(calendar.releases)
    assert tidb[0].version.text == "v1.0.0"
    assert [release.version.text for release in mariadb] == ["10.2.11", "10.11.5", "11.4.5"]


def test_eighteen_months_hold_nine_days_of_new_series() -> None:
    """v5.0.0 to v6.3.0; days with only patches in between do not count."""
    tidb = releases.load(SHIPPED).owned(engines.by_name()["tidb"].owns)
    days = [
        day
        for day in releases.days(tidb, ("GA", "LTS", "DMR"))
        if date(2021, 4, 1) <= day <= date(2022, 9, 30)
    ]
    assert (len(days), days[0], days[-1]) == (9, date(2021, 4, 7), date(2022, 9, 30))


def test_three_releases_of_one_day_are_three_runs() -> None:
    """v4.0.15, v5.0.4 and v5.1.2 came out together; only the last is of an LTS series."""
    tidb = releases.load(SHIPPED).owned(engines.by_name()["tidb"].owns)
    same = [release for release in tidb if release.day == date(2021, 9, 27)]
    assert [release.version.text for release in same] == ["v4.0.15", "v5.0.4", "v5.1.2"]
    assert releases.days(same, ("patch",)) == (date(2021, 9, 27),) * 3
    assert releases.days(tidb, ("LTS patch",)).count(date(2021, 9, 27)) == 1


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("six,2022-12-29,LTS", "'six' is not a version"),
        (",2022-12-29,LTS", "'' is not a version"),
        ("v6.5.0,29.12.2022,LTS", "release_date: '29.12.2022'"),
        ("v6.5.0,20221229,LTS", "release_date: '20221229'"),
        ("v6.5.0,2022-02-30,LTS", "release_date: '2022-02-30'"),
        ("v6.5.0,,LTS", "release_date: ''"),
        ("v6.5.0,2022-12-29,long", "type: unknown: 'long'; known: GA"),
        ("v6.5.1-rc,2022-12-29,patch", "type: 'patch' cannot be the type of v6.5.1-rc"),
        ("v6.5.0,2022-12-29,patch", "type: 'patch' cannot be the type of v6.5.0"),
        ("v6.5.0,2022-12-29", "type: missing, and it does not follow from v6.5.0"),
        ("v6.5.0,2022-12-29,LTS,x", "more than 3 columns"),
        ("v06.5.0,2022-12-29,LTS", "'v06.5.0' is not a version"),
        ("v6.4.0,2022-11-17,DMR", "v6.4.0 is in line 2 already"),
        ("v6.3.0,2022-09-30,DMR", "v6.3.0 (2022-09-30) belongs before v6.4.0 (2022-11-17) of line"),
        ("v6.1.3,2022-11-17,patch", "v6.1.3 (2022-11-17) belongs before v6.4.0"),
    ],
)
def test_a_bad_line_of_a_calendar_is_named(tmp_path: Path, line: str, named: str) -> None:
    """File and line, and what was found there."""
    path = file(tmp_path / "calendar.csv", "v6.4.0,2022-11-17,DMR", line)
    with pytest.raises(SpecError) as refused:
        releases.load(path)
    assert str(refused.value).startswith(f"{path}: line 3: ")
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (['"v6.5.0', '",2022-12-29,LTS'], r"line 3: version: 'v6.5.0\n' is not a version"),
        (
            ["v6.4.0-rc.1,2022-11-17,pre-release", "v6.4.0-RC.1,2022-12-29,pre-release"],
            "line 3: v6.4.0-RC.1 is in line 2 already",
        ),
    ],
)
def test_a_version_is_written_in_one_way(tmp_path: Path, lines: list[str], named: str) -> None:
    """A version is in one line only; the case of its suffix does not matter."""
    path = file(tmp_path / "calendar.csv", *lines)
    with pytest.raises(SpecError) as refused:
        releases.load(path)
    assert str(refused.value).startswith(f"{path}: {named}")


def test_all_bad_lines_are_named_at_once(tmp_path: Path) -> None:
    """A person who fixes a file need not start again for each fault."""
    path = file(tmp_path / "calendar.csv", "six,2022-12-29,LTS", "v6.5.0,never,LTS")
    with pytest.raises(SpecError) as refused:
        releases.load(path)
    assert [line.split(": ")[1] for line in str(refused.value).splitlines()] == ["line 2", "line 3"]


def test_what_is_no_calendar_is_refused(tmp_path: Path) -> None:
    """Other columns, another kind of file, none at all."""
    with pytest.raises(SpecError, match="line 1: the columns must be version,release_date,type"):
        releases.load(file(tmp_path / "other.csv", header="version,day\n"))
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (binary, tmp_path / "none.csv"):
        with pytest.raises(SpecError, match="cannot be read"):
            releases.load(path)


def test_a_list_may_be_in_any_order_and_have_more_columns(tmp_path: Path) -> None:
    """It may begin with a byte order mark; lines that name no version are left out."""
    path = file(
        tmp_path / "list.csv",
        "DMR,v6.4.0,6.4,2022-11-17",
        "pre-GA,rc1,,2016-12-23",
        "GA,v1.0.0,1.0,2017-10-16",
        header="\ufefftype,version,series,release_date\n",
    )
    found = releases.read_new(path)
    expected = (of("v6.4.0", "2022-11-17", "DMR"), of("v1.0.0", "2017-10-16", "GA"))
    assert found == releases.NewReleases(expected, ("line 3: rc1 (pre-GA)",))


def test_a_missing_type_follows_from_the_version_or_is_asked_for(tmp_path: Path) -> None:
    """From ``v6.5.0`` alone it does not follow whether the release has long-term support."""
    lines = ("v6.5.1,2023-03-10", "v7.0.0-rc.1,2023-03-01")
    header = "version,release_date\n"
    found = releases.read_new(file(tmp_path / "list.csv", *lines, header=header))
    assert [release.kind for release in found.releases] == ["patch", "pre-release"]
    more = file(tmp_path / "more.csv", *lines, "v6.5.0,2022-12-29", header=header)
    with pytest.raises(
        SpecError,
        match=r"line 4: type: missing, and it .* v6\.5\.0; write one of GA",
    ):
        releases.read_new(more)
    with pytest.raises(SpecError, match="line 1: has no column release_date"):
        releases.read_new(file(tmp_path / "short.csv", header="version\n"))


# ---------------------------------------------------------------- merging


@FEW
@given(some_releases(), some_releases(), st.randoms(use_true_random=False))
def test_a_merge_does_not_depend_on_order_and_is_done_once(
    there: list[Release], new: list[Release], random: Random
) -> None:
    """In any order the result is the same, and merging the same releases again adds nothing."""
    calendar = releases.merge(Calendar(()), there).calendar
    merged = releases.merge(calendar, new, replace=True)
    shuffled = random.sample(new, len(new))
    assert releases.merge(calendar, shuffled, replace=True) == merged
    again = releases.merge(merged.calendar, new)
    assert (again.calendar, again.added, again.changed) == (merged.calendar, (), ())
    names = {release.version.text for release in there}
    assert {release.version.text for release in merged.added} == {
        release.version.text for release in new if release.version.text not in names
    }


@FEW
@given(some_releases())
def test_what_is_written_is_read_back(there: list[Release]) -> None:
    """The order that a merge makes is the order that a calendar must have."""
    calendar = releases.merge(Calendar(()), there).calendar
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calendar.csv"
        releases.write(calendar, path)
        assert releases.load(path) == calendar
        assert list(Path(folder).iterdir()) == [path]


def test_another_day_or_type_is_taken_only_when_asked() -> None:
    """Both are shown, so that a person can see which is right."""
    calendar = Calendar((of("v6.5.0", "2022-12-29", "LTS"),))
    new = [of("v6.5.0", "2022-12-30", "DMR")]
    with pytest.raises(SpecError) as refused:
        releases.merge(calendar, new)
    for part in ("v6.5.0 of 2022-12-29 (LTS)", "v6.5.0 of 2022-12-30 (DMR)", "--replace"):
        assert part in str(refused.value)
    merged = releases.merge(calendar, new, replace=True)
    assert merged.calendar.releases == tuple(new)
    assert merged.changed == ((calendar.releases[0], new[0]),)


# ---------------------------------------------------------------- the commands


def test_an_update_adds_and_says_what(here: Here) -> None:
    """Once more, it changes no byte."""
    path = here.home.configs / "releases.csv"
    new = file(here.path / "new.csv", "v9.0.0,2027-01-02,LTS", "rc1,2016-12-23,pre-GA")
    done = here.run("releases", "update", new)
    assert done.returncode == 0, done.stderr
    assert "left out: line 3: rc1" in done.stdout
    assert "added: tidb  2027-01-02  v9.0.0" in done.stdout
    assert written(path)[-1] == "v9.0.0,2027-01-02,LTS"
    before = path.read_bytes()
    assert "0 added, 0 changed" in here.run("releases", "update", new).stdout
    assert path.read_bytes() == before


def test_bare_versions_are_taken_for_the_engine_that_is_named(here: Here) -> None:
    """Without the engine they are refused, and so is a list of another engine's versions."""
    path = here.home.configs / "releases.csv"
    new = file(here.path / "new.csv", "11.4.6,2027-01-02,patch")
    assert "--engine mariadb" in here.refused("releases", "update", new)
    assert "not a version of tidb: 11.4.6" in here.refused(
        "releases", "update", new, "--engine", "tidb"
    )
    done = here.run("releases", "update", new, "--engine", "mariadb")
    assert "added: mariadb  2027-01-02  11.4.6" in done.stdout
    # What the calendar has already need not be said again.
    assert "0 added, 0 changed" in here.run("releases", "update", path).stdout


def test_nothing_of_a_list_reaches_the_terminal_as_it_is(here: Here) -> None:
    """A list may be anybody's."""
    new = file(here.path / "new.csv", "\x1b[31mrc1,2016-12-23,pre-GA")
    done = here.run("releases", "update", new)
    assert "left out: line 2: [31mrc1 (pre-GA)" in done.stdout
    assert "\x1b" not in done.stdout + here.refused(
        "releases", "update", file(here.path / "bad.csv", "\x1b[31mv1,\x1b,\x1b")
    )


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["v6.5.0,2022-12-30,LTS"], "of 2022-12-29 (LTS), the list v6.5.0 of 2022-12-30 (LTS)"),
        (["v9.0.1,2027-01-02,patch"] * 2, "v9.0.1 is in line 4 already"),
        (["10.2.11-rc,2027-01-02,pre-release"], "not a version of mariadb or tidb: 10.2.11-rc"),
        (["9.0.1,2027-01-02,patch"], "9.0.1: without a leading v these are versions of mariadb"),
        (["nine,2027-01-02,LTS"], "line 4: version: 'nine'"),
    ],
)
def test_an_update_that_is_refused_writes_nothing(here: Here, lines: list[str], named: str) -> None:
    """Not even what is good in it."""
    path = here.home.configs / "releases.csv"
    before = path.read_bytes()
    new = file(here.path / "new.csv", "v9.0.0,2027-01-02,LTS", *lines)
    new.write_text(new.read_text().replace(HEADER, f"{HEADER}\n"))  # an empty line counts as one
    assert named in here.refused("releases", "update", new)
    assert path.read_bytes() == before
    assert list(path.parent.glob("releases.csv*")) == [path]


def test_an_update_replaces_when_asked(here: Here) -> None:
    """And says what was there before."""
    new = file(here.path / "new.csv", "v6.5.0,2022-12-30,LTS")
    done = here.run("releases", "update", new, "--replace")
    assert "changed: tidb  2022-12-30  v6.5.0" in done.stdout
    assert "before: 2022-12-29  LTS" in done.stdout
    assert "v6.5.0,2022-12-30,LTS" in written(here.home.configs / "releases.csv")


def test_the_releases_of_a_day_are_listed_with_what_the_rules_name(here: Here) -> None:
    """As of that day, so that a reader can see what a schedule would compare."""
    done = here.run("releases", "--engine", "tidb", "--on", "2022-02-15", "--json")
    (known,) = json.loads(done.stdout)
    assert known["releases"][-1] == {
        "version": "v5.4.0",
        "release_date": "2022-02-15",
        "type": "LTS",
    }
    assert known["rules"] == {
        "newest": "v5.4.0",
        "newest LTS": "v5.4.0",
        "previous": "v5.3.0",
        "previous series": "v5.3.0",
        "previous patch": None,
        "previous LTS": "v5.3.0",
    }
    text = here.run("releases", "--on", "2022-02-15").stdout
    assert "previous series  2021-11-30  v5.3.0" in text
    assert "mariadb: 1 release until 2022-02-15" in text
    # What is asked for is not in between long lists.
    last = text[text.rindex("  2022-02-15  v5.4.0           LTS\n\n") :]
    for engine in ("mariadb", "tidb"):
        assert f"{engine}: version rules on 2022-02-15" in last


def test_one_series_is_listed_by_itself(here: Here) -> None:
    """Its rules are about its own newest release."""
    done = here.run(
        "releases", "--engine", "tidb", "--series", "6.1", "--on", "2023-01-01", "--json"
    )
    (known,) = json.loads(done.stdout)
    assert [release["version"] for release in known["releases"]] == [
        *("v6.1.0", "v6.1.1", "v6.1.2", "v6.1.3")
    ]
    assert known["rules"]["newest 6.1"] == "v6.1.3"
    assert known["rules"]["previous patch"] == "v6.1.2"


def test_what_cannot_be_listed_is_refused(here: Here) -> None:
    """With what there is."""
    assert "known: mariadb, tidb" in here.refused("releases", "--engine", "oracle")
    assert "write it as 6.5" in here.refused("releases", "--series", "LTS")
    assert "for the list only" in here.refused("releases", "--json", "update", "any.csv")
