"""What a report decides: sentences, counts and differences, before any format."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.hosts.samples import Figure, HostFigures
from benchlab.language import english
from benchlab.language.names import title_of
from benchlab.language.numbers import Numbers
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES
from benchlab.report.formats import json_text, pages, terminal
from benchlab.report.model import hosts
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.model.software import commands_of
from benchlab.report.sentences import method, opening, wording
from benchlab.results.records import RESUMED, TrialResult
from tests.builders import campaigns, plans

CHANGE_WORDS = ("improved", "reduced", "faster", "slower")


def report_of(changes: dict[str, float], noise: float = 0.002, **fields: Any) -> Report:
    """The report of a campaign with known changes, as fractions by workload."""
    made = campaigns.campaign(**{"rounds": 4, **fields})
    results = campaigns.results_of(made.plan, campaigns.known_change(changes, noise))
    return model.build(made, compare(made.plan, results, 2.0), results)


def with_figures(report: Report, **fields: Any) -> Report:
    """The same report with other figures in its first section."""
    first = report.comparison.workloads[0]
    changed = dataclasses.replace(first, **fields)
    workloads = (changed, *report.comparison.workloads[1:])
    comparison = dataclasses.replace(report.comparison, workloads=workloads)
    return dataclasses.replace(report, comparison=comparison)


def command_of_a_trial(report: Report) -> str:
    """As the test plan prints it."""
    return commands_of(report.campaign, report.language)[-1].text


def outcome(report: Report) -> str:
    """The sentence on the first workload."""
    return wording.outcome(report, report.sections[0])


def test_a_campaign_that_was_resumed_says_so() -> None:
    """And not that it was deployed and loaded once, nor as often as planned."""
    assert "deployed and loaded once" in wording.deployments(report_of({}))
    for planned, said in ((1, "deployed and loaded again"), (2, "deployed and loaded 4 times")):
        made = campaigns.campaign(rounds=4, deployments=planned)
        environment = {**made.environment, RESUMED: "5, 9"}
        results = campaigns.results_of(made.plan)
        report = model.build(
            dataclasses.replace(made, environment=environment),
            compare(made.plan, results, 2.0),
            results,
        )
        assert said in wording.deployments(report)
        assert "deployed and loaded once" not in pages.markdown(report)
        (step,) = [step for step in method.steps(report) if "interrupted" in step]
        assert step.startswith("Measuring was interrupted; trials measured by then: 5, 9. The")


def test_a_regression_is_worded_as_reduced_and_an_improvement_as_improved() -> None:
    """The verdict, and nothing else, chooses the word for the direction."""
    report = report_of({"oltp_point_select": -0.1, "oltp_update_index": 0.1})
    sentences = [wording.outcome(report, section) for section in report.sections]
    assert [s.figures.verdict for s in report.sections] == ["regression", "improvement"]
    assert "is reduced by 10.0% against 10.2.11" in sentences[0]
    assert "is improved by 10.0% against 10.2.11" in sentences[1]


@pytest.mark.parametrize("verdict", ["equivalent", "inconclusive", "unstable"])
@pytest.mark.parametrize("estimate", [-30.0, -1.0, 0.0, 1.0, 30.0])
@pytest.mark.parametrize("p", [None, 0.0001, 0.049999999, 0.2])
def test_no_sentence_claims_a_change_that_the_verdict_does_not(
    verdict: str, estimate: float, p: float | None
) -> None:
    """However large the estimate, without a verdict of change no word of change is used."""
    report = with_figures(
        report_of({}),
        verdict=verdict,
        estimate_pct=estimate,
        p_adjusted=p,
        reasons=("one reason",),
        ci95_pct=(estimate - 1, estimate + 1),
    )
    told = {"inconclusive": "No answer for"}.get(verdict, verdict)
    for text, word in ((outcome(report), verdict), (opening.sentence(report), told)):
        assert word in text
        assert not any(word in text for word in CHANGE_WORDS)
        assert "no difference" not in text.lower()


def test_inconclusive_says_that_nothing_was_shown_or_ruled_out_and_why() -> None:
    """`inconclusive` is never worded as the absence of a change."""
    text = outcome(report_of({"oltp_point_select": 0.01}, noise=0.1))
    assert (
        "No change of 2% or more was shown, and none was ruled out (this plan cannot decide" in text
    )


def test_a_single_round_is_inconclusive_and_says_that_it_is_too_few() -> None:
    """One round yields an estimate without an interval, and the reason."""
    text = outcome(report_of({"oltp_point_select": -0.3}, noise=0.0, rounds=1))
    assert "1 complete round is too few: at least three are needed" in text
    assert "estimate -30.00% without an interval" in text


def test_an_interval_beside_zero_is_explained_where_the_verdict_is_inconclusive() -> None:
    """An interval that leaves zero out beside `inconclusive` is put down to the adjustment."""
    reason = reason_of([0.09, 0.05, 0.08, 0.02, 0.09, 0.06])
    assert reason.startswith("taken alone the interval excludes zero")
    assert "the figures vary too much to show or rule out a change of 2%; about" in reason


def test_a_shown_difference_below_the_threshold_is_not_called_indistinguishable() -> None:
    """Where p is small and the estimate below the threshold, that is the reason given."""
    reason = reason_of([0.070, 0.0715, 0.069, 0.071, 0.070, 0.0705], threshold=8.0)
    assert reason.startswith("the sides differ (adjusted p ")
    assert "but the estimate is below 8%" in reason


def reason_of(ratios: list[float], threshold: float = 2.0) -> str:
    """The reason beside `inconclusive` for a workload with these log ratios by round."""
    workloads = ["oltp_insert", "oltp_point_select", "oltp_read_write", "oltp_update_index"]
    plan = plans.plan(workloads=workloads, threads=[4], rounds=len(ratios))
    noisy = [0.3, -0.3, 0.1, -0.2, 0.25, -0.1]

    def tps(trial: PlannedTrial) -> float:
        changes = ratios if trial.workload == "oltp_insert" else noisy
        return 1000 * math.exp(changes[trial.round - 1] * (trial.side == "candidate"))

    found = compare(plan, campaigns.results_of(plan, tps=tps), threshold).workloads[0]
    assert found.verdict == "inconclusive"
    return "; ".join(map(str, found.reasons))


def test_an_aa_campaign_says_that_it_measures_noise() -> None:
    """Title, overview and labels of an A/A campaign never speak of two versions."""
    report = report_of({}, sides="same")
    assert wording.title(report).endswith("10.2.11 against itself (A/A)")
    assert "measures noise" in wording.subject(report)
    assert opening.sentence(report).startswith("A/A campaign of 10.2.11: no false alarm;")
    assert report.sides["baseline"].label == "10.2.11 (baseline)"
    assert report.sides["candidate"].label == "10.2.11 (candidate)"
    assert "10.11.5" not in pages.markdown(report)


def test_a_change_in_an_aa_campaign_is_called_a_false_alarm() -> None:
    """A significant change between equal sides is not worded as one of a version."""
    report = report_of({"oltp_point_select": -0.1}, sides="same")
    assert wording.verdict(report, report.sections[0]) == "regression (false alarm)"
    assert "this is a false alarm" in outcome(report)
    assert "1 false alarm, Point Select TPS (-10.0%)" in opening.sentence(report)


@pytest.mark.parametrize(
    ("sides", "label"),
    [
        ("same", "10.2.11 (candidate, slowed down by 30% on purpose)"),
        ("different", "10.11.5 (slowed down by 30% on purpose)"),
    ],
)
def test_a_slowdown_on_purpose_is_never_taken_for_the_version_s(sides: str, label: str) -> None:
    """Title, label, subject and summary say it; a change is no false alarm."""
    report = report_of({"oltp_point_select": -0.4}, sides=sides, slowdown_pct=30)
    assert report.sides["candidate"].label == label
    assert "slowed down" not in report.sides["baseline"].label
    assert label in wording.title(report)
    assert "slowed down by 30% on purpose" in wording.subject(report)
    assert "say nothing about the candidate's version" in wording.subject(report)
    assert "candidate slowed down by 30% on purpose" in opening.trust(report)
    assert wording.verdict(report, report.sections[0]) == "regression"
    assert "false alarm" not in outcome(report)
    assert label in outcome(report)


def test_the_same_version_with_other_parameters_keeps_its_sides_apart() -> None:
    """Two sides of one version are told apart by name, and their parameters shown separately."""
    engine = {
        "baseline": {"version": "10.11.5", "parameters": {"sync_binlog": 0}},
        "candidate": {"version": "10.11.5", "parameters": {"sync_binlog": 1}},
        "parameters": {"max_connections": 100},
    }
    report = report_of({}, engines={"mariadb": engine})
    assert report.sides["candidate"].label == "10.11.5 (candidate)"
    assert report.sides["candidate"].parameters == {"sync_binlog": 1}
    assert report.common_parameters == {"max_connections": 100}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1.9961, "-1.996%"),
        (-2.0, "-2.00%"),
        (-2.0039, "-2.00%"),
        (1.9999, "+1.9999%"),
        (1.99999999, "+1.999999%"),
        (0.0, "0.00%"),
        (-0.0, "0.00%"),
        (-0.0004, "-0.0004%"),
        (11.03, "+11.03%"),
        (1234.5, "+1,234.50%"),
        (None, "n/a"),
    ],
)
def test_a_printed_estimate_is_on_the_same_side_of_threshold_and_zero(
    value: float | None, shown: str
) -> None:
    """Rounding never contradicts the verdict beside it."""
    assert Numbers(english()).estimate(value, 2.0) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.049999, "= 0.049999"), (0.05, "= 0.050"), (0.0, "< 0.001"), (1.0, "= 1.000")],
)
def test_a_printed_p_value_is_on_the_same_side_of_the_level(value: float, shown: str) -> None:
    """A p value that decides for a change is not rounded up to 0.05."""
    assert Numbers(english()).p_value(value) == shown


def test_the_json_has_the_promised_shape_and_null_for_what_is_absent() -> None:
    """The keys that other programs read; a missing cell is null."""
    made = campaigns.campaign(rounds=1, workloads=["oltp_insert"], threads=[4])
    results = campaigns.results_of(made.plan, tps=lambda t: None if t.side == "candidate" else 10.0)
    raw = json_text.to_json(made, compare(made.plan, results, 2.0), results)
    assert json.loads(json.dumps(raw, allow_nan=False)) == raw
    assert list(raw) == [
        *("campaign", "report", "aa", "sides", "rounds", "deployments", "seed", "target"),
        *("placement", "engine", "engine_reason", "rule", "threshold_pct"),
        *("workloads", "gates"),
        *("calibration", "excluded", "repeated_pairs", "missing", "hosts"),
    ]
    assert {workload["basis"] for workload in raw["workloads"]} == {"prior"}
    assert raw["workloads"][0]["estimate_pct"] is None
    assert raw["workloads"][0]["cells"] == [
        {
            "threads": 4,
            "baseline": {"tps": pytest.approx(10.0), "qps": pytest.approx(10.0), "p95_ms": 2.0},
            "candidate": {"tps": None, "qps": None, "p95_ms": 2.0},
            "improvement_pct": None,
            "qps_improvement_pct": None,
        }
    ]
    assert raw["gates"] == [
        {
            "gate": "summary",
            "kind": "validity",
            "sentence": "The summary is as it should be",
            "passed": 2,
            "failed": 0,
            "not_evaluated": 0,
        }
    ]


def with_hosts(result: TrialResult, *found: HostFigures) -> TrialResult:
    """A trial during which the hosts were sampled."""
    return dataclasses.replace(result, hosts="c1/x.hosts.csv", host_figures=found)


def hosts_of(*results: TrialResult) -> hosts.Hosts:
    """What a report knows of the hosts of these trials, all of which are used."""
    return hosts.host_tables(compare(plans.plan(rounds=1), [], 2.0), results)


def cpu(host: str, mean: float, largest: float, **fields: Any) -> HostFigures:
    """A host that reports nothing but its CPU."""
    return HostFigures(host, cores=2, figures={"cpu_busy": Figure(mean, largest)}, **fields)


def test_hosts_are_summed_up_by_side_and_role() -> None:
    """Means are averaged, the largest maximum is taken, and what is not reported is missing."""
    trials = plans.plan(rounds=1).trials
    baseline, candidate = (next(t for t in trials if t.side == side) for side in SIDES)
    found = hosts_of(
        with_hosts(
            campaigns.trial_result(baseline),
            cpu("tikv-1", 0.2, 0.5),
            cpu("tikv-2", 0.4, 0.6),
            cpu("client-1", 0.1, 0.1, processes={"client": 0.25}),
        ),
        with_hosts(campaigns.trial_result(candidate), cpu("tikv-1", 0.9, 1.0)),
    )
    rows = {(side, name): cells for side, name, _, *cells in hosts.rows(found.groups, english())}
    assert rows["baseline", "tikv (2 hosts)"] == ["30.0% / 60.0%", *["n/a"] * 8]
    assert rows["candidate", "tikv"][0] == "90.0% / 100.0%"
    assert rows["baseline", "client"][0] == "10.0% / 10.0%"
    assert "client 25% on average" in " ".join(hosts.sentences(found, english()))
    assert len(hosts.header(english())) == len(hosts.rows(found.groups, english())[0])


def test_trials_that_are_not_used_do_not_count_for_the_hosts() -> None:
    """An invalid trial's load is in no figure, and so not in the hosts' either."""
    made = campaigns.campaign(rounds=1, workloads=["oltp_insert"], threads=[4])
    results = [
        with_hosts(
            campaigns.trial_result(t, reasons=["failed"] if t.side == "candidate" else ()),
            cpu("localhost", 0.5, 0.5),
        )
        for t in made.plan.trials
    ]
    found = hosts.host_tables(compare(made.plan, results, 2.0), results)
    assert found.sampled == found.used < len(results)
    assert {group.side for group in found.groups} <= {"baseline"}


def test_hosts_that_were_not_sampled_are_said_in_one_sentence() -> None:
    """A campaign of before has no table of hosts, and says so; a host that failed is named."""
    (trial, *_) = plans.plan(rounds=1).trials
    (sentence,) = hosts.sentences(hosts_of(campaigns.trial_result(trial)), english())
    assert sentence == "What the hosts did during the trials was not recorded."
    lost = HostFigures("tikv-1", reason="on tikv-1: connection refused.")
    (sentence,) = hosts.sentences(
        hosts_of(with_hosts(campaigns.trial_result(trial), lost)), english()
    )
    assert "not recorded (tikv-1 in 1 trial, on tikv-1: connection refused)." in sentence
    some = hosts_of(with_hosts(campaigns.trial_result(trial), lost, cpu("client-1", 0.1, 0.1)))
    assert hosts.sentences(some, english())[-1].startswith("Without figures: tikv-1 in 1 trial")


def test_without_any_trial_a_report_is_made_and_everything_is_missing() -> None:
    """A campaign in which nothing was measured yields n/a and never a number."""
    made = campaigns.campaign(facts={}, environment={})
    empty = compare(made.plan, [], 2.0)
    report = model.build(made, empty, [])
    for section in report.sections:
        assert "estimate n/a" in wording.outcome(report, section)
    text = " ".join([*wording.quality(report), method.variables(report)])
    assert "24 planned, 0 executed, 0 used" in text
    assert "Errors ignored by the client: n/a" in text
    assert "Effective variables: n/a" in text


def test_the_commands_are_those_of_the_workload_with_placeholders() -> None:
    """The plan shows what ran, without host, port or password."""
    report = report_of({})
    load, run = (command.text for command in commands_of(report.campaign, report.language))
    assert load.startswith("sysbench oltp_common")
    assert load.endswith("prepare")
    assert run.startswith("sysbench $workload")
    for text in ("--mysql-host=$host", "--threads=$threads", "--rand-type=uniform", "--time=4"):
        assert text in run
    assert "password" not in load + run


def test_a_client_that_names_no_workload_has_a_command_for_each() -> None:
    """go-ycsb is given shares of operations; what differs by host is left out there as well."""
    spec = plans.spec(workloads=["ycsb_a", "ycsb_d"], dataset={"records": 1000})
    _, first, second = commands_of(campaigns.campaign(spec), english())
    assert (first.purpose, second.purpose) == (
        "Run one trial of YCSB A",
        "Run one trial of YCSB D",
    )
    assert "--prop=mysql.host=$host" in first.text
    assert "--prop=requestdistribution=latest" in second.text


def test_queries_of_one_client_share_a_command() -> None:
    """They differ in the query only."""
    spec = plans.spec(workloads=["tpch_q1", "tpch_q22"], dataset={"scale_factor": 10})
    _, run = commands_of(campaigns.campaign(spec), english())
    assert run.text.startswith("tiup bench tpch run \\\n    --host=$host")
    assert "--queries=$query" in run.text


TIDB: dict[str, Any] = {
    "engine": "tidb",
    "engines": {"tidb": {"baseline": {"version": "v6.1.0"}, "candidate": {"version": "v6.5.0"}}},
}


def test_what_the_campaign_recorded_of_its_engine_is_said() -> None:
    """Title, caveat and ignored errors are the engine's own, and no part of machine or software."""
    told = {
        "cores": "2",
        "sysbench": "1.0.20",
        "engine_title": "TiDB",
        "engine_caveat": "caveat-tidb",
        "ignored_errors": "1213,9007",
    }
    report = report_of({}, environment=told, **TIDB)
    assert any("its SQL layer, not TiKV" in note for note in method.notes(report))
    assert wording.title(report).startswith("TiDB Sysbench Performance Test Report – v6.5.0 vs.")
    assert "--mysql-ignore-errors=1213,9007 " in command_of_a_trial(report)
    assert report.machine == {"cores": "2"}
    assert report.software == {"sysbench": "1.0.20"}


def test_settings_of_the_load_balancer_are_said_in_its_own_words() -> None:
    """Who repeats the measurement needs them; Benchlab's own are in its configuration file."""
    chosen = report_of({}, load_balancer={"maxconn": 4000, "timeouts": {"connect": "2s"}})
    said = next(note for note in method.notes(chosen) if "HAProxy" in note)
    assert "maxconn 4000, timeout connect 2s, timeout client 1h" in said
    assert not any("maxconn" in note for note in method.notes(report_of({})))


def test_an_engine_of_which_nothing_is_recorded_goes_by_its_name() -> None:
    """A campaign that ended before its target could report anything still has a report."""
    report = report_of({}, environment={}, **TIDB)
    assert wording.title(report).startswith("tidb Sysbench Performance Test Report")
    assert len(method.notes(report)) == len(method.notes(report_of({})))
    assert "--mysql-ignore-errors=1213,1020,1205 " in command_of_a_trial(report)


def test_errors_reconnects_and_repeats_are_reported_by_trial() -> None:
    """Whoever had errors is named, and so is why a pair was measured again."""
    made = campaigns.campaign(rounds=2, workloads=["oltp_insert"], threads=[4])
    first, *others = made.plan.trials
    results = [
        campaigns.trial_result(first, reasons=["the server was killed"]),
        *(campaigns.trial_result(trial) for trial in others),
        *(
            campaigns.trial_result(trial, attempt=2, errors=3.0 if trial == first else 0.0)
            for trial in made.plan.trials
            if trial.pair == first.pair
        ),
    ]
    report = model.build(made, compare(made.plan, results, 2.0), results)
    text = " ".join(wording.quality(report))
    assert "4 planned, 6 executed, 4 used" in text
    assert "Insert in round 1, measured 2 times" in text
    assert f"{first.id}: the server was killed" in text
    assert f"Errors ignored by the client: 3 in 4 trials that report them ({first.id} 3)" in text
    assert "Reconnects of the client: none in 4 trials" in text


def test_hundreds_of_repeats_of_a_busy_machine_are_counted_not_told() -> None:
    """The report of a campaign whose every pair was measured again, for long reasons, is there."""
    made = campaigns.campaign(rounds=20, workloads=["oltp_insert"], threads=[4])
    why = "the host was busy with other work: " + "a job of the night, " * 20
    results = [
        campaigns.trial_result(trial, attempt=attempt, reasons=[why] if attempt == 1 else [])
        for attempt in (1, 2)
        for trial in made.plan.trials
    ]
    report = model.build(made, compare(made.plan, results, 2.0), results)
    (said,) = (text for text in wording.quality(report) if "measured again" in text)
    assert said == (
        "Blocks measured again (20): Insert 20. The reasons are listed under Excluded trials."
    )
    assert {reason for _, _, reason in wording.excluded(report)} == {why.strip()}


def test_the_method_says_which_trials_were_warmed_up_and_who_decided_the_order() -> None:
    """Once a block."""
    made = campaigns.campaign(restore="per_workload", rounds=2)
    said = " ".join(method.steps(model.build(made, compare(made.plan, [], 2.0), [])))
    assert "comes before a side's first trial in a block" in said
    assert "The gate drift shows" in said
    assert "of thread counts in a block is random" in said


def test_rounds_that_are_not_complete_are_said_where_the_figures_are() -> None:
    """Rows and estimate may be over other rounds than planned, both sides over the same; said."""
    made = campaigns.campaign(rounds=4, workloads=["oltp_insert"])
    gone = next(t for t in made.plan.trials if t.round == 2 and t.side == "candidate")
    results = [r for r in campaigns.results_of(made.plan) if r.trial != gone]
    report = model.build(made, compare(made.plan, results, 2.0), results)
    said = wording.rounds(report, report.sections[0])
    assert said is not None
    assert "the 3 of 4 rounds that are complete" in said
    cell = next(c for c in report.sections[0].figures.cells if c.threads == gone.threads)
    assert set(cell.sides["baseline"].by_round("tps")) == {1, 3, 4}, (
        "both sides over the same rounds"
    )
    assert wording.rounds(report_of({}), report_of({}).sections[0]) is None


def test_the_terminal_table_fits_its_width_and_is_plain_without_colour() -> None:
    """Every verdict and figure is in the table; ANSI codes only where they were asked for."""
    report = report_of({"oltp_point_select": -0.1})
    plain = terminal.render(report, 80, colour=False)
    assert all(len(line) <= 80 for line in plain.splitlines())
    assert "\x1b" not in plain
    assert "Point Select: regression, estimate -10.0%" in plain
    assert "1,800.0" in plain
    assert "\x1b[" in terminal.render(report, 80, colour=True)


def test_control_characters_from_a_server_do_not_reach_a_terminal() -> None:
    """What a server calls itself is cleaned of escape codes and line breaks."""
    facts = {side: campaigns.side_facts("x\x1b[31m\nred") for side in ("baseline", "candidate")}
    made = campaigns.campaign(facts=facts)  # type: ignore[arg-type]
    results = campaigns.results_of(made.plan)
    report = model.build(made, compare(made.plan, results, 2.0), results)
    assert report.sides["baseline"].server == "x [31m red"


def test_workloads_are_titled_as_in_published_reports() -> None:
    """Headings keep the published names."""
    assert [title_of(name) for name in ("oltp_point_select", "oltp_update_non_index")] == [
        "Point Select",
        "Update Non-index",
    ]
