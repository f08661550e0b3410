"""The columns that gates look at: what each is, where it comes from, and when it is None.

A column is a number of one trial, or of one cell on one side. ``configs/quality`` bounds it; a
column that is None, or that nothing reports, leaves its gate ``not evaluated``.

===========================  ========================================  ======  ================
column                       what it says                              unit    None when
===========================  ========================================  ======  ================
The client's output: :func:`output_columns`
-----------------------------------------------------------------------------------------------
``summary_present``          1 if the output is whole, else 0          flag    never
``duration_excess_s``        run time beyond what was asked            s       not printed
``effective_threads_ratio``  threads at work / threads asked           ratio   not printed
``unexpected_errors``        errors survived, none of the expected     count   not printed
``rate_error``               printed rate x duration against the count ratio   not printed
``rate_excess``              the same; 0 if at most 0.1 s of the run   ratio   not printed
``latency_disorder``         orderings of latencies that do not hold   count   not printed
``behind``                   transactions that waited near the end     ratio   not at a rate
``tpcc_efficiency_error``    printed efficiency, beyond rounding       points  not TPC-C
``tpcc_mix_deviation``       New Orders, off their share               sd      not TPC-C
``known_query_time``         0 if a query is too quick or too slow     flag    not TPC-H
``error_ratio``              errors survived per transaction           ratio   output not whole
``reconnects``               connections lost                          count   not printed
``zero_intervals``           intervals without a transaction           count   few transactions
``missing_intervals``        intervals that were not printed           count   one was expected
``drift_excess``             last third / first third, beyond noise    log     < 9 intervals
``throughput_cv``            standard deviation / mean of intervals    ratio   < 3 intervals
A cell's figures over its rounds: :func:`benchlab.analysis.gates.symptoms.cell_columns`
-----------------------------------------------------------------------------------------------
``round_cv``                 standard deviation / mean of rounds       ratio   < 3 rounds
``p95_fall_pct``             p95 below that of the next fewer threads  %       < 3 rounds
``curve_dip_pct``            throughput below its neighbours' line     %       < 3 rounds
What was found before the trials: the other functions of this module
-----------------------------------------------------------------------------------------------
``inconsistent_dataset``     conditions violated after the load        count   not checked
``unlike_hosts``             hosts unlike the first of their role      count   no fleet
``clock_offset_ms``          largest offset between two hosts          ms      not measurable
``undeclared_differences``   variables that differ, though not asked   count   unknown, or given
Servers, load balancer, the client's job: ``benchlab.campaign.trial_columns``
-----------------------------------------------------------------------------------------------
``client_exit_code``         exit code of the client                   code    it left none
``dataset_differs``          1 if the data are not the snapshot's      flag    not checked
``background_jobs``          ANALYZE, DDL, backups during the run      count   not reported
``ended_servers``            servers that ended or restarted           count   never
``wrong_version_servers``    servers of another version                count   no answer, commit
``ineffective_parameters``   parameters that did not take effect       count   no answer
``leaders_beyond``           leaders a store has too many or too few   count   no cluster, v3.0
``unsettled_regions``        regions that PD has yet to move           count   no cluster
``backends_down``            backends that the load balancer lost      count   no answer, none
``connection_spread``        connections: most - fewest per backend    count   no answer
``write_stalls``             storage servers that held writes back     count   one does not say
Counters of all servers, from before the warm-up: ``benchlab.campaign.counting``
-----------------------------------------------------------------------------------------------
``auto_analyses``            ANALYZE that TiDB ended by itself         count   not read, no TiDB
``region_merges``            merges of regions that PD began           count   not read, no PD
``swept_versions``           old versions that TiKV removed            count   not read, none yet
Hosts during the run: ``columns`` and ``space_ratio`` of ``benchlab.hosts.metrics.HostMetrics``
-----------------------------------------------------------------------------------------------
``harness_cpu_ratio``        CPU used by client or load balancer       ratio   not sampled
``cpu_steal_ratio``          CPU stolen, on the worst host             ratio   not sampled
``other_work_ratio``         CPU that others used, on the worst host   ratio   not sampled
``free_space_ratio``         least free disk / what must stay free     ratio   not sampled
===========================  ========================================  ======  ================
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from benchlab.analysis.gates import symptoms, variables
from benchlab.hosts.fleet import ROLES
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.open_loop import saturated
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import Campaign, Condition
from benchlab.workloads.output import Output
from benchlab.workloads.workload import Workload

# The line of a campaign's environment with the offset of its hosts' clocks.
CLOCKS = "clock_offset_ms"
# How long a client's threads take until all of them are at work.
START_ALLOWANCE_S = 0.25
# sysbench computes its rate over the time until it prints, 30 to 50 ms late on a busy machine,
# which is 1 % of a trial of five seconds.
RATE_ALLOWANCE_S = 0.1
# Hosts of one kind differ by a few pages of memory.
SAME_MEMORY = 0.01

Columns = Mapping[str, float | None]


def client_columns(
    output: Output,
    threads: int,
    seconds: float,
    dataset: object,
    expected_errors: Sequence[int] = (),
) -> dict[str, float | None]:
    """The columns of one run that need only its summary; see :func:`output_columns`."""
    duration = output.duration_s
    own = output.columns(threads, dataset)
    return {
        "unexpected_errors": output.unexpected_errors(expected_errors),
        "summary_present": 1.0 if output.status == "complete" else 0.0,
        "duration_excess_s": None if duration is None else duration - seconds,
        # At a rate, threads wait for work, and latencies begin before it has a thread.
        "effective_threads_ratio": None
        if output.rate
        else _effective_threads(output.latency_ms.sum, duration, threads),
        **own,
        # Beside `rate_error`, by which the gates of earlier bundles judge.
        "rate_excess": _rate_excess(own.get("rate_error"), duration),
    }


def dataset_columns(loaded: Sequence[Condition] | None) -> dict[str, float | None]:
    """The column of the consistency conditions checked after the load; None or empty: unchecked."""
    violated = sum(condition.violations > 0 for condition in loaded or ())
    return {"inconsistent_dataset": float(violated) if loaded else None}


def fleet_columns(environment: Mapping[str, str]) -> dict[str, float | None]:
    """The columns of what the hosts of a fleet report about themselves.

    Args:
        environment: the campaign's. For a fleet it has one line per role, such as ``tikv_hosts``:
            the number of hosts and their distinct descriptions. Memory may differ by 1 %.
    """
    clocks = environment.get(CLOCKS)
    lines = [line for role in ROLES if (line := environment.get(f"{role}_hosts")) is not None]
    return {
        "unlike_hosts": float(sum(map(_unlike, lines))) if lines else None,
        "clock_offset_ms": None if clocks is None else float(clocks),
    }


def configuration_columns(campaign: Campaign) -> dict[str, float | None]:
    """The column of :func:`benchlab.analysis.gates.variables.undeclared`.

    Servers that somebody else runs have none: nothing was asked of them, and two of one version may
    be compared because of their differences, which the report shows.
    """
    if not campaign.plan.can.administers:
        return {}
    return {"undeclared_differences": variables.undeclared(campaign.facts, campaign.plan.sides)}


def _unlike(line: str) -> int:
    first, *others = (_without_memory(host) for host in line.partition(" x ")[2].split(" / "))
    return sum(
        text != first[0] or not math.isclose(memory, first[1], rel_tol=SAME_MEMORY)
        for text, memory in others
    )


def _without_memory(host: str) -> tuple[str, float]:
    """A host's description without its memory, and the memory in GiB; 0 where it has none."""
    memory = re.search(r"([0-9.]+) GiB", host)
    return (host, 0.0) if memory is None else (host.replace(memory[0], ""), float(memory[1]))


def _rate_excess(rate_error: float | None, duration_s: float | None) -> float | None:
    """The error of the printed rate; 0 where it is worth 0.1 s of the run or less."""
    if rate_error is None or duration_s is None:
        return None
    return 0.0 if rate_error * duration_s <= RATE_ALLOWANCE_S else rate_error


def _effective_threads(
    latency_sum_ms: float | None, duration_s: float | None, threads: int
) -> float | None:
    """Little's law from the printed sum: sum of latencies / elapsed = threads at work.

    The time that the threads take to start is allowed for: it is a large part of a one-second trial
    on a busy machine, and negligible in a five-minute one.
    """
    if latency_sum_ms is None or duration_s is None:
        return None
    at_work_s = max(duration_s - START_ALLOWANCE_S, duration_s / 2)
    return latency_sum_ms / 1000 / at_work_s / threads if at_work_s else None


def output_columns(
    workload: Workload,
    trial: PlannedTrial,
    output: Output,
    *,
    dataset: Dataset,
    interval_s: float,
    expected_errors: Sequence[int],
) -> dict[str, float | None]:
    """The columns of what the client printed.

    Args:
        interval_s: length of an interval of the series, as it was asked for.
        expected_errors: the server's error numbers that a client may survive.
    """
    return {
        **client_columns(output, trial.threads, trial.seconds, dataset, expected_errors),
        **symptoms.trial_columns(
            output,
            seconds=trial.seconds,
            interval_s=interval_s,
            read_only=saturated(trial.workload) in workload.READ_ONLY,
        ),
    }
