"""A report type is read as it was meant or refused with a sentence that helps."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from benchlab.errors import SpecError
from benchlab.plan import report_type
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads.sysbench import Tables
from tests.builders import plans

GOOD: dict[str, Any] = plans.spec().model_dump(mode="json", exclude={"schedule"})
REPORTS = Path(__file__).parents[3] / "configs" / "reports"


def changed(**fields: Any) -> str:
    """The good report type as YAML, with fields changed (`__` for a dot) or removed (`...`)."""
    raw = copy.deepcopy(GOOD)
    for key, value in fields.items():
        *parents, last = key.split("__")
        node = raw
        for parent in parents:
            node = node[parent]
        if value is ...:
            del node[last]
        else:
            node[last] = value
    return yaml.safe_dump(raw)


def test_a_report_type_survives_being_written_and_read() -> None:
    """What a campaign stores of its report type is that report type."""
    assert report_type.loads(yaml.safe_dump(GOOD)) == plans.spec()
    assert ReportSpec.model_validate(GOOD) == plans.spec()


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_report_type_that_is_delivered_is_valid(path: Path) -> None:
    """No report type that comes with Benchlab is broken."""
    assert report_type.load(path).report == path.stem


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "threads: 0": ({"threads": [0]}, "threads.0: must be at least 1"),
    "threads: 10^6": ({"threads": [4, 10**6]}, "threads.1: must be at most"),
    "threads: a word": ({"threads": ["many"]}, "threads.0: must be a whole number"),
    "threads: a fraction": ({"threads": [1.5]}, "threads.0: "),
    "threads: one twice": ({"threads": [4, 4]}, "threads: [4, 4] names one twice"),
    "threads: none": ({"threads": []}, "threads: "),
    "threads_by_workload: one twice": (
        {"threads_by_workload": {"oltp_insert": [2, 2]}},
        "threads_by_workload.oltp_insert: [2, 2] names one twice",
    ),
    "threads_by_workload: none": (
        {"threads_by_workload": {"oltp_insert": []}},
        "threads_by_workload.oltp_insert: needs at least 1",
    ),
    "load_balancer: unknown": (
        {"load_balancer": "nginx"},
        "load_balancer: must be 'haproxy' or 'none', found 'nginx'",
    ),
    "load_balancer: nbproc": (
        {"load_balancer": {"nbproc": 64}},
        "load_balancer.nbproc: unknown key",
    ),
    "load_balancer: nbthread": (
        {"load_balancer": {"nbthread": 65}},
        "load_balancer.nbthread: must be at most 64, found 65",
    ),
    "load_balancer: too long": (
        {"load_balancer": {"timeouts": {"client": "25d"}}},
        "load_balancer.timeouts.client: 25d is more than HAProxy's maximum",
    ),
    "load_balancer: no unit": (
        {"load_balancer": {"timeouts": {"client": "2"}}},
        "load_balancer.timeouts.client: does not match the pattern",
    ),
    "load_balancer: never checked": (
        {"load_balancer": {"check": {"inter": 0}}},
        "load_balancer.check.inter: must be at least 1, found 0",
    ),
    "load_balancer: too few connections": (
        {"load_balancer": {"maxconn": 7}},
        "load_balancer.maxconn: 7 is less than 8 threads",
    ),
    "workloads: none": ({"workloads": []}, "workloads: "),
    "workloads: one twice": ({"workloads": ["oltp_insert"] * 2}, "workloads: ['oltp_insert', "),
    "workloads: a path": ({"workloads": ["../x"]}, "workloads.0: "),
    "seconds: 0": ({"seconds": 0}, "seconds: must be at least 1, found 0"),
    "seconds: negative": ({"seconds": -4}, "seconds: "),
    "seconds: true": ({"seconds": True}, "seconds: must be a whole number, found True"),
    "warmup_seconds: negative": ({"warmup_seconds": -1}, "warmup_seconds: "),
    "rounds: 0": ({"rounds": 0}, "rounds: "),
    "rounds: a text": ({"rounds": "3"}, "rounds: must be a whole number, found '3'"),
    "dataset.tables: 0": ({"dataset__tables": 0}, "dataset.tables: "),
    "dataset.table_size: 0": ({"dataset__table_size": 0}, "dataset.table_size: "),
    "dataset.table_size: missing": ({"dataset__table_size": ...}, "dataset.table_size: missing"),
    "restore: unknown": ({"restore": "sometimes"}, "restore: must be 'every_trial', "),
    "restore: missing": ({"restore": ...}, "restore: missing; it must be set"),
    "report: missing": ({"report": ...}, "report: missing; it must be set"),
    "report: a path": ({"report": "../../etc"}, "report: "),
    "report: a line more": ({"report": "abc\n"}, "report: "),
    "engine: not listed": ({"engine": "tidb"}, "engine: tidb has no entry under `engines`"),
    "engines: none": ({"engines": {}}, "engines: "),
    "version: a word": (
        {"engines__mariadb__baseline__version": "latest"},
        "engines.mariadb.baseline.version: 'latest' is not a version; write v6.5.0 for TiDB",
    ),
    "version: a number": ({"engines__mariadb__baseline__version": 10.2}, "version: "),
    "version: other digits": ({"engines__mariadb__baseline__version": "١.٢.٣"}, "not a version"),
    "candidate: the baseline": (
        {"engines__mariadb__candidate__version": "10.2.11"},
        "candidate equals baseline (10.2.11); to measure the noise of one version against itself",
    ),
    "threshold_pct: 0": ({"threshold_pct": 0}, "threshold_pct: "),
    "threshold_pct: not a number": ({"threshold_pct": float("nan")}, "threshold_pct: "),
    "repeat_limit: 3": ({"repeat_limit": 3}, "repeat_limit: "),
    "ports: privileged": ({"ports__entry": 80}, "ports.entry: "),
    "ports: too large": ({"ports__entry": 65536}, "ports.entry: "),
    "ports: one twice": ({"ports__entry": 13391}, "ports: all ports must differ"),
    "seed: negative": ({"seed": -1}, "seed: "),
    "unknown key": ({"thread": [4]}, "thread: unknown key; is it misspelt?"),
    "unknown nested key": ({"dataset__rows": 1}, "dataset.rows: unknown key; is it misspelt?"),
    "too many trials": (
        {"rounds": 1000, "threads": list(range(1, 101))},
        "the plan has 400000 trials, more than 100000; take fewer rounds",
    ),
    "parameter: not a number": (
        {"engines__mariadb__parameters": {"a": float("nan")}},
        "engines.mariadb.parameters",
    ),
    "parameter: infinite": (
        {"engines__mariadb__parameters": {"a": float("inf")}},
        "engines.mariadb.parameters",
    ),
    "parameter: two lines": (
        {"engines__mariadb__baseline__parameters": {"a": "1\nbind-address=0.0.0.0"}},
        "engines.mariadb.baseline.parameters",
    ),
    "parameter: a name with a line more": (
        {"engines__mariadb__baseline__parameters": {"a=1\nport": 1}},
        "engines.mariadb.baseline.parameters",
    ),
    "parameter: a list": ({"engines__mariadb__parameters": {"a": [1]}}, "parameters.a"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_naming_the_field(name: str) -> None:
    """Each bad input gives one message: where, which field, what is wrong."""
    fields, message = BAD[name]
    with pytest.raises(SpecError) as caught:
        report_type.loads(changed(**fields), where="a.yaml")
    assert message in str(caught.value)
    assert all(line.startswith("a.yaml: ") for line in str(caught.value).splitlines())


def test_all_faults_are_named_at_once() -> None:
    """A person need not fix a file fault by fault."""
    with pytest.raises(SpecError) as caught:
        report_type.loads(changed(threads=[0], seconds=0, colour="red"))
    for field in ("threads.0", "seconds", "colour"):
        assert f": {field}: " in str(caught.value)


def test_a_list_is_not_called_empty_because_its_items_are_wrong() -> None:
    """A wrong item is the only fault that is named."""
    with pytest.raises(SpecError) as caught:
        report_type.loads(changed(threads=[0]))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("value", [["host"], {"max-replicas": 3}, None, float("inf"), "a\nb"])
def test_an_item_that_cannot_be_set_is_refused_in_one_sentence(value: object) -> None:
    """With the item, and without the parts of a program; PD's `location-labels` is a list."""
    components = {"pd": {"replication.location-labels": value}}
    with pytest.raises(SpecError) as caught:
        report_type.loads(changed(engines__tidb={"baseline": SIDE, "components": components}))
    (said,) = str(caught.value).splitlines()
    assert "tidb.components.pd.replication.location-labels: must be text on one line" in said


SIDE = {"version": "v8.5.3"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no report type: it has none of the fields of one"),
        ("- a", "is no report type: it has none of the fields of one"),
        ("services: {a: 1}", "is no report type: it has none of the fields of one"),
        ("a: [", "not YAML"),
        ("a: 1\na: 2", "the key 'a' occurs twice"),
        ("a: {b: 1, b: 2}", "the key 'b' occurs twice"),
        ("? [a, b]\n: 1", "not YAML"),
        ("? {a: b}\n: 1", "not YAML"),
        ("a: 2024-13-45", "not YAML"),
        ("a: !!int x", "not YAML"),
        ("a: !!python/object:os.system {}", "not YAML"),
        ("a: \0", "not YAML"),
        ("a: " + "9" * 5000, "not YAML"),
        ("[" * 20_000, "not YAML"),
        ("rounds: 1\na: &a [*a]", "a: unknown key"),
        ("&a {a: *a, rounds: 1}", "a: unknown key"),
        ("1: 2", ""),
        ("a: !!timestamp x", "not YAML"),
        ("a: !!bool x", "not YAML"),
    ],
)
def test_no_text_is_too_broken_for_a_message(text: str, message: str) -> None:
    """What is no report type, or not even YAML, is refused, and with a SpecError."""
    with pytest.raises(SpecError) as caught:
        report_type.loads(text, where="a.yaml")
    assert str(caught.value).startswith("a.yaml: ")
    assert message in str(caught.value)


def test_only_an_aa_campaign_may_measure_one_version_twice() -> None:
    """With `sides: same` both sides are the baseline, whatever the candidate is."""
    text = changed(sides="same", engines__mariadb__candidate__version="10.2.11")
    assert report_type.loads(text).side("mariadb", "candidate").version == "10.2.11"
    both = plans.spec(sides="same")
    assert both.side("mariadb", "candidate") == both.side("mariadb", "baseline")


def test_one_version_with_other_parameters_is_another_side() -> None:
    """Parameters alone can be what is compared."""
    same = {"version": "10.2.11"}
    other = {"version": "10.2.11", "parameters": {"sync_binlog": 1}}
    made = plans.spec(engines={"mariadb": {"baseline": same, "candidate": other}})
    assert made.side("mariadb", "candidate").parameters == {"sync_binlog": 1}


def test_a_sides_own_parameters_win_over_the_common_ones() -> None:
    """Common parameters hold for both sides unless a side says otherwise."""
    engine = {
        "baseline": {"version": "10.2.11"},
        "candidate": {"version": "10.11.5", "parameters": {"a": 2}},
        "parameters": {"a": 1, "b": True},
    }
    made = plans.spec(engines={"mariadb": engine})
    assert made.side("mariadb", "baseline").parameters == {"a": 1, "b": True}
    assert made.side("mariadb", "candidate").parameters == {"a": 2, "b": True}


def test_a_file_has_the_name_of_its_report_type(tmp_path: Path) -> None:
    """A copied file whose name was forgotten inside is refused, not run under two names."""
    path = tmp_path / "another.yaml"
    path.write_text(changed())
    with pytest.raises(SpecError, match="must be the file's name, 'another'"):
        report_type.load(path)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """A missing or binary file is refused by its path."""
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=r"a\.yaml: cannot be read"):
        report_type.load(path)


# ---------------------------------------------------------------- overrides


def test_overrides_change_what_they_name_and_nothing_else() -> None:
    """The trigger form and `--set` change single fields, nested ones by a dotted name."""
    before = plans.spec()
    after = before.with_overrides({"threads": [1, 2], "dataset.tables": 2, "ports.entry": 20000})
    assert isinstance(after.dataset, Tables)
    assert (after.threads, after.dataset.tables, after.ports.entry) == ((1, 2), 2, 20000)
    left = {"threads", "dataset", "ports"}
    assert after.model_dump(exclude=left) == before.model_dump(exclude=left)
    assert before == plans.spec()


def test_threads_that_somebody_chooses_are_for_every_workload() -> None:
    """`--set threads=2` measures nothing with other threads, unless it says which."""
    own = {"oltp_point_select": [1, 2]}
    before = plans.spec(threads_by_workload=own)
    assert before.thread_counts == (1, 2, 4, 8)
    assert before.with_overrides({"threads": [16]}).thread_counts == (16,)
    both = before.with_overrides({"threads": [16], "threads_by_workload.oltp_point_select": [3]})
    assert both.threads_of("oltp_point_select") == (3,)
    for same in ({"threads": [4, 8]}, {"rounds": 1}):
        assert before.with_overrides(same).threads_of("oltp_point_select") == (1, 2)
    less = before.with_overrides({"workloads": ["oltp_update_index"]})
    assert less.thread_counts == less.threads == (4, 8)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("colour", "red", "colour: unknown key"),
        ("dataset.rows", 1, "dataset.rows: unknown key"),
        ("threads.0", 4, "threads.0: no such field"),
        ("a.b.c", 4, "a.b.c: no such field"),
        ("seconds.x", 4, "seconds.x: no such field"),
        ("", 4, ""),
        (".", 4, ""),
        ("seconds", 0, "seconds: "),
        ("seconds", None, "seconds: "),
        ("report", "x", "report: the name of a report type cannot be overridden"),
        ("engine", "tidb", "engine: tidb has no entry"),
    ],
)
def test_a_bad_override_is_refused_naming_the_field(key: str, value: Any, message: str) -> None:
    """An override is checked as the file is."""
    with pytest.raises(SpecError) as caught:
        plans.spec().with_overrides({key: value})
    assert message in str(caught.value)


# ---------------------------------------------------------------- anything at all

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["10.2.11", "v6.5.0", "same", "auto", "local", "never"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3),
    max_leaves=6,
)
paths = st.sampled_from(
    [*GOOD, *(f"dataset__{k}" for k in GOOD["dataset"]), "engines__mariadb__candidate", "x"]
)


def is_read_or_refused(text: str) -> None:
    """The promise: a SpecError, or a report type that can be stored and read again."""
    try:
        made = report_type.loads(text)
    except SpecError:
        return
    assert ReportSpec.model_validate(made.model_dump(mode="json")) == made


@given(st.text() | st.text(alphabet="{}[]:,-?&*!|>'\"#% \n\tab01.~<=@`\\"))
@example("a: &a {*a : 1}")
@example("<<: 1")
@example("<<: [1]")
@example("? |\n")
@example("=: 1")
@example("a: 0x")
@example("a: 190:20:30:99999999999999999999999999")
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text crashes its reader: a DAG file, the CLI, a form."""
    is_read_or_refused(text)


@given(st.dictionaries(paths, values, min_size=1, max_size=3))
def test_a_good_report_type_with_anything_in_it_is_read_or_refused(fields: dict[str, Any]) -> None:
    """Whatever a field holds, the outcome is a valid report type or a SpecError."""
    raw = copy.deepcopy(GOOD)
    for key, value in fields.items():
        *parents, last = key.split("__")
        node = raw
        for parent in parents:
            node = node[parent] if isinstance(node.get(parent), dict) else raw
        node[last] = value
    is_read_or_refused(yaml.safe_dump(raw))


@given(st.dictionaries(st.sampled_from([*GOOD, "dataset.tables", "x.y"]) | st.text(), values))
def test_any_override_is_taken_or_refused(overrides: dict[str, Any]) -> None:
    """Whatever a form sends, the outcome is a valid report type or a SpecError."""
    try:
        made = plans.spec().with_overrides(overrides)
    except SpecError:
        return
    assert ReportSpec.model_validate(made.model_dump(mode="json")) == made
