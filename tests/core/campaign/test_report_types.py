"""Report types are found, changed and given an engine, or refused with the alternatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchlab.campaign import fit, report_types
from benchlab.campaign import overrides as overrides_module
from benchlab.campaign.resolving import Resolver
from benchlab.errors import SpecError, UnavailableError
from benchlab.home import Home, find
from benchlab.plan.report_type import SIDES, ReportSpec
from tests.builders import plans

MARIADB = {"baseline": {"version": "10.2.11"}, "candidate": {"version": "10.11.5"}}
TIDB = {"baseline": {"version": "v6.1.0"}, "candidate": {"version": "v6.5.0"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home in which no server is available."""
    for variable in ("PATH", "TIUP_HOME", "BENCHLAB_TIDB_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    (tmp_path / "configs" / "reports").mkdir(parents=True)
    return Home(tmp_path, tmp_path / "state")


def both(**fields: Any) -> ReportSpec:
    """A report type with versions for two engines."""
    return plans.spec(**{"engine": "auto", "engines": {"tidb": TIDB, "mariadb": MARIADB}, **fields})


def write(home: Home, name: str, **fields: Any) -> Path:
    """A report type in the home's configuration."""
    path = home.configs / "reports" / f"{name}.yaml"
    raw = plans.spec(report=name).model_dump(mode="json", exclude={"schedule"})
    path.write_text(yaml.safe_dump({**raw, **fields}))
    return path


def program(path: Path) -> None:
    """An empty program."""
    path.parent.mkdir(parents=True)
    path.write_text("")
    path.chmod(0o755)


# ---------------------------------------------------------------- finding


def test_a_report_type_is_found_by_name_or_by_path(home: Home, tmp_path: Path) -> None:
    """Those in the configuration by name, any other by path."""
    inside = write(home, "inside")
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text("")
    assert report_types.find_report(home, "inside") == inside
    assert report_types.find_report(home, str(elsewhere)) == elsewhere
    assert report_types.report_files(home) == [inside]


def test_an_unknown_report_type_is_named_with_the_known_ones(home: Home) -> None:
    """A person who mistypes a name sees the others."""
    with pytest.raises(SpecError, match="report types: none"):
        report_types.find_report(home, "x")
    write(home, "one")
    write(home, "two")
    with pytest.raises(SpecError, match=r"nosuch: no such file .*report types: one, two"):
        report_types.find_report(home, "nosuch")


def test_a_broken_report_type_does_not_affect_the_others(home: Home) -> None:
    """Every file is listed, and each is loaded or refused on its own."""
    good, bad = write(home, "good"), write(home, "bad", threads=[0])
    assert report_types.report_files(home) == [bad, good]
    assert report_types.load(good).report == "good"
    with pytest.raises(SpecError, match=r"bad\.yaml: threads\.0"):
        report_types.load(bad)


def test_all_unknown_names_are_reported_at_once(home: Home) -> None:
    """Target, workloads and versions of the wrong engine, each with its field."""
    path = write(
        home,
        "bad",
        target="moon",
        workloads=["oltp_nothing"],
        engines={"mariadb": {**MARIADB, "candidate": {"version": "v6.5.0"}}},
    )
    with pytest.raises(SpecError) as caught:
        report_types.load(path)
    for part in (
        "target: unknown: moon; known: ",
        "workloads: unknown: oltp_nothing; known: ",
        "engines.mariadb.candidate.version: 'v6.5.0' is not a version of mariadb",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"pd": {"schedule.leader-schedule-limit": 8}}, "by_workload.oltp_insert.pd: PD keeps its"),
        (
            {"tikv": {"storage.api-version": 2}},
            "oltp_insert.tikv: storage.api-version: it decides how rows are stored, and all",
        ),
        ({"tikv": {"raft-engine.prefill-for-recycle": True}}, "is known from v7.0.0 on"),
        ({"tiflash": {"x": 1}}, "tiflash: there is no such component"),
        ({"tikv": {"log-level": "error"}, "tidb": {"token-limit": 500}}, None),
    ],
)
def test_a_workload_s_own_items_are_of_what_can_be_configured_anew(
    own: dict[str, Any], message: str | None
) -> None:
    """On a fleet; what cannot is refused before there are hosts."""
    engines = plans.fleet_spec().model_dump(mode="json")["engines"]
    engines["tidb"]["by_workload"] = {"oltp_insert": own}
    spec = plans.fleet_spec(engines=engines)
    if message is None:
        assert fit.check(spec, "spec") is spec
        return
    with pytest.raises(SpecError) as refused:
        fit.check(spec, "spec")
    assert message in str(refused.value)


def test_one_server_has_one_configuration() -> None:
    """Of all workloads, whatever it is; and a workload that is not known has none."""
    engines = plans.spec().model_dump(mode="json")["engines"]
    engines["mariadb"]["by_workload"] = {"oltp_inset": {"server": {"log_level": "error"}}}
    with pytest.raises(SpecError) as refused:
        fit.check(plans.spec(engines=engines), "spec")
    assert "engines.mariadb.by_workload: unknown: oltp_inset; known: " in str(refused.value)
    assert "a server has the same configuration for all workloads" in str(refused.value)


# ---------------------------------------------------------------- changing


def test_versions_go_to_the_engine_that_owns_them() -> None:
    """`baseline=10.11.5 candidate=11.4.5` chooses the engine along with the versions."""
    spec = overrides_module.override(
        both(), {"baseline": "10.11.5", "candidate": "11.4.5", "rounds": 1}
    )
    assert spec.engine == "mariadb"
    assert spec.side("mariadb", "baseline").version == "10.11.5"
    assert spec.side("mariadb", "candidate").version == "11.4.5"
    assert spec.side("tidb", "candidate").version == "v6.5.0"
    assert spec.rounds == 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"baseline": "10.11.5", "candidate": "v6.5.0"},
            "candidate: 'v6.5.0' is a version of tidb",
        ),
        ({"engine": "tidb", "candidate": "11.4.5"}, "candidate: '11.4.5' is a version of mariadb"),
        ({"candidate": "11.4.5", "engine": "tidb"}, "candidate: '11.4.5' is a version of mariadb"),
        ({"candidate": "latest"}, "candidate: 'latest' is not a version of any engine"),
        ({"candidate": ""}, "candidate: '' is not a version of any engine"),
        ({"candidate": None}, "candidate: 'None' is not a version"),
        ({"engines.mariadb.candidate.version": "v6.5.0"}, "is not a version of mariadb"),
        ({"baseline": "10.11.5"}, "candidate equals baseline (10.11.5)"),
        ({"workloads": ["oltp_nothing"]}, "workloads: unknown: oltp_nothing"),
        ({"target": "moon"}, "target: unknown: moon"),
        ({"colour": "red"}, "colour: unknown key"),
    ],
)
def test_an_override_takes_effect_or_is_refused(overrides: dict[str, Any], message: str) -> None:
    """It is never silently ignored: another engine's version is an error."""
    with pytest.raises(SpecError) as caught:
        overrides_module.override(both(), overrides)
    assert message in str(caught.value)


def test_both_sides_faults_are_named_at_once() -> None:
    """A person puts both right before the next try."""
    with pytest.raises(SpecError) as caught:
        overrides_module.override(both(), {"baseline": "banana", "candidate": "kiwi"})
    baseline, candidate = str(caught.value).splitlines()
    assert baseline.startswith("baseline: 'banana' is not a version of any engine")
    assert candidate.startswith("candidate: 'kiwi' is not a version of any engine")


def test_a_version_against_itself_must_be_declared_an_aa_campaign() -> None:
    """With `sides: same` the same override is accepted."""
    spec = overrides_module.override(both(), {"sides": "same", "baseline": "11.4.5"})
    assert spec.engine == "mariadb"
    assert spec.side("mariadb", "candidate").version == "11.4.5"


@pytest.mark.parametrize(
    ("assignments", "overrides"),
    [
        (["rounds=2"], {"rounds": 2}),
        (["threads=2,8"], {"threads": [2, 8]}),
        (["threads=[2, 8]"], {"threads": [2, 8]}),
        (["threads=2"], {"threads": [2]}),
        (["workloads=oltp_insert"], {"workloads": ["oltp_insert"]}),
        (
            ["workloads=oltp_insert,oltp_read_write"],
            {"workloads": ["oltp_insert", "oltp_read_write"]},
        ),
        (["threads="], {"threads": []}),
        (["candidate=11.4.5"], {"candidate": "11.4.5"}),
        (["baseline=10.11"], {"baseline": "10.11"}),  # and not the number 10.11
        (["dataset.tables=2", "seconds=1"], {"dataset.tables": 2, "seconds": 1}),
        (["title=a=b"], {"title": "a=b"}),
        (["seed=null"], {"seed": None}),
        ([], {}),
    ],
)
def test_assignments_are_read_as_intended(
    assignments: list[str], overrides: dict[str, Any]
) -> None:
    """Lists with or without brackets, versions as text, numbers as numbers."""
    assert overrides_module.parse_assignments(assignments) == overrides


@pytest.mark.parametrize(
    "assignments",
    [
        *(["rounds"], ["=2"], [""], ["rounds=2", "rounds=3"], ["title=["], ["title=2024-13-45"]),
        *(["seconds=!!int x"], ["threads=[1"], ["title=\0"]),
    ],
)
def test_an_assignment_that_cannot_be_read_is_quoted(assignments: list[str]) -> None:
    """The message begins with the option as it was given."""
    with pytest.raises(SpecError, match=r"^--set "):
        overrides_module.parse_assignments(assignments)


@given(st.lists(st.text(), max_size=3))
def test_any_assignment_is_accepted_or_refused(assignments: list[str]) -> None:
    """Any command line gives a report type or a SpecError."""
    try:
        made = overrides_module.override(both(), overrides_module.parse_assignments(assignments))
    except SpecError:
        return
    assert isinstance(made, ReportSpec)


# ---------------------------------------------------------------- the engine


def test_auto_takes_the_first_available_engine(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the report type's order; the reason says why earlier ones were not taken."""
    for version in ("10.2.11", "10.11.5"):
        program(home.servers / "mariadb" / version / "bin" / "mariadbd")
    name, reason = Resolver(home).engine(both())
    assert name == "mariadb"
    assert "tidb is not available: TiDB v6.1.0" in str(reason)
    assert "mariadb is available on this machine" in str(reason)
    for version in ("v6.1.0", "v6.5.0"):
        program(tmp_path / "tidb" / version / "tidb-server")
    monkeypatch.setenv("BENCHLAB_TIDB_HOME", str(tmp_path / "tidb"))
    assert Resolver(home).engine(both())[0] == "tidb"
    swapped = both(engines={"mariadb": MARIADB, "tidb": TIDB})
    assert Resolver(home).engine(swapped)[0] == "mariadb"


def test_an_engine_that_lacks_one_side_is_not_available(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both versions are needed; the missing one is named."""
    program(tmp_path / "tidb" / "v6.1.0" / "tidb-server")
    monkeypatch.setenv("BENCHLAB_TIDB_HOME", str(tmp_path / "tidb"))
    with pytest.raises(UnavailableError, match=r"tidb is not available: TiDB v6\.5\.0"):
        Resolver(home).engine(both(engine="tidb"))


def test_if_no_engine_is_available_each_says_why(home: Home) -> None:
    """The message says how to get each of them."""
    with pytest.raises(UnavailableError) as caught:
        Resolver(home).engine(both())
    for part in ("engine: auto", "TiDB v6.1.0", "tiup", "MariaDB 10.2.11", "make setup"):
        assert part in str(caught.value)


def test_a_named_engine_is_not_replaced_by_another(home: Home) -> None:
    """A person who asks for TiDB never gets figures of MariaDB."""
    for version in ("10.2.11", "10.11.5"):
        program(home.servers / "mariadb" / version / "bin" / "mariadbd")
    with pytest.raises(UnavailableError, match=r"^engine: tidb: "):
        Resolver(home).engine(both(engine="tidb"))
    name, reason = Resolver(home).engine(both(engine="mariadb"))
    assert (name, str(reason)) == ("mariadb", "the report type names it")


def test_the_report_types_by_release_and_by_week_measure_the_same() -> None:
    """They are two files, and a correction in one has to be made in the other.

    They differ in which versions they compare, and the one by week, whose price is paid every
    week, has shorter trials.
    """
    what = {"target", "topology", "engine", "engines", "sides", "dataset", "workloads", "threads"}
    how = {"rounds", "seconds", "warmup_seconds", "restore", "placement", "client", "threshold_pct"}
    by_release, by_week = (
        report_types.load(report_types.find_report(find(), name)).model_dump(
            mode="json", include=what | how
        )
        for name in ("sysbench_ec2", "sysbench_ec2_weekly")
    )
    for found in (by_release, by_week):
        for side in SIDES:
            del found["engines"]["tidb"][side]["version"]
    assert (by_release.pop("seconds"), by_week.pop("seconds")) == (60, 55)
    assert by_release == by_week


def test_what_a_version_rule_comes_to_is_checked_for_every_day_of_the_calendar(
    tmp_path: Path,
) -> None:
    """Today's versions take the parameter; a backfill would find out on rented hosts."""
    shipped = yaml.safe_load((find().configs / "reports" / "sysbench_ec2.yaml").read_text())
    path = tmp_path / "sysbench_ec2.yaml"
    path.write_text(yaml.safe_dump(shipped))
    report_types.check_every_day(find(), path)
    pool = {"storage.scheduler-worker-pool-size": 20}
    shipped["engines"]["tidb"]["by_version"].append(
        {"since": "v6.0.0", "until": "v6.6.0", "components": {"tikv": pool}}
    )
    path.write_text(yaml.safe_dump(shipped))
    with pytest.raises(SpecError, match=r"as of 2022-\d\d-\d\d: .*pool-size = 20 with v6\.0\.0"):
        report_types.check_every_day(find(), path)
