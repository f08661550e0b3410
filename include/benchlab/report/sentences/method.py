"""Sentences on the setting, on how it was measured and how to read the outcome, as plain text.

Each function makes one part of the report; ``steps(report)`` begins with
``"Deploy TiDB v6.1.0 (baseline) and v6.5.0 (candidate) with TiUP on the same hosts, ..."``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.language import side_name
from benchlab.language.names import items, plain
from benchlab.language.numbers import MISSING
from benchlab.plan.fields.load_balancer import HAProxySettings
from benchlab.report.model.hardware import FleetHardware
from benchlab.report.model.report import Report, ReportSide
from benchlab.report.model.software import Row, same
from benchlab.report.sentences import wording
from benchlab.results import approval
from benchlab.results.records import HASH_OF, SCRIPT, SCRIPT_BEFORE, SPENT, rows_of


def notes(report: Report) -> tuple[str, ...]:
    """What limits the conclusions because of the target and the engine."""
    say, found = report.language.say, []
    if report.plan.can.shares_machine:
        cores = report.machine.get("cores", MISSING)
        found.append(say("shared-machine", cores=cores, balancer=report.spec.balancer))
    if isinstance(report.spec.load_balancer, HAProxySettings):
        chosen = items(report.spec.load_balancer.directives(), report.language)
        found.append(say("haproxy-settings", settings=chosen))
    if not report.plan.can.administers:
        found.append(say("note-existing" if report.spec.connections else "note-cloud"))
    if report.engine_caveat:
        found.append(report.engine_caveat)
    if report.fleet is not None:
        found += _fleet_notes(report, report.fleet)
    # The reason was worded for a terminal, with commands in backquotes.
    why = plain(report.language.text(report.campaign.engine_reason or MISSING))
    reason = why.removesuffix(".").replace("`", "")
    return (*found, say("engine-chosen", engine=plain(report.plan.engine), reason=reason))


def steps(report: Report) -> tuple[str, ...]:
    """The steps of the test plan as carried out, a sentence or two each."""
    say = report.language.say
    return (
        _deploy(report),
        wording.sentences(filter(None, (_fill(report), contents(report))), report),
        say("step-analyze"),
        *_consistency(report),
        *([say("step-snapshot")] if report.plan.can.administers else []),
        *_deployments(report),
        *_slowdown(report),
        _order(report),
        _restore(report),
        *_leaders(report),
        _trial(report),
        say("step-repeat", limit=report.spec.repeat_limit),
    )


def contents(report: Report) -> str:
    """A sentence if the sides' datasets differ; empty if they are equal, or it is not known."""
    checksums = [side.dataset_checksum for side in report.sides.values()]
    if None in checksums or len(set(checksums)) == 1:
        return ""
    baseline, candidate = map(str, checksums)
    # A cluster's part of the checksum differs even if both sides were restored from one dataset
    # snapshot, which BR verifies on each side.
    if report.restored_dataset and rows_of(baseline) == rows_of(candidate):
        return ""
    return report.language.say(report.spec.dataset.WHY_UNLIKE)


def _where(report: Report) -> str:
    return "machine" if report.fleet is None else "fleet"


def _deploy(report: Report) -> str:
    if not report.plan.can.administers:
        there = dict.fromkeys(side.version for side in report.sides.values())
        return report.language.say(
            "step-existing" if report.spec.connections else "step-cloud",
            engine=report.engine_title,
            versions=items(there, report.language),
        )
    versions = {name: side.version for name, side in report.sides.items()}
    if report.campaign.is_aa:
        versions["candidate"] = "same"
    with_tiup = report.fleet is not None and "tiup" in report.software
    deployed = report.language.say(
        "step-deploy",
        engine=report.engine_title,
        **versions,
        where="tiup" if with_tiup else _where(report),
        loaded="together" if report.plan.can.loads_together else "apart",
    )
    if not report.plan.first_ports:
        return deployed
    ports = report.language.say("step-ports", deployments=report.plan.deployments)
    return wording.sentences((deployed, ports), report)


def _fill(report: Report) -> str:
    say, dataset = report.language.say, report.spec.dataset.said
    if report.restored_dataset:
        return say("step-restore-dataset", dataset=dataset, by=report.dataset_saved_by)
    return say("step-load", dataset=dataset)


def _consistency(report: Report) -> tuple[str, ...]:
    if report.consistency is None or not report.consistency.moments:
        return ()
    first, *others = report.consistency.moments
    moments = "both" if others else first.replace(" ", "-")
    return (report.language.say("step-consistency", moments=moments),)


def _deployments(report: Report) -> tuple[str, ...]:
    say, number = report.language.say, report.plan.deployments
    first = report.plan.screening_rounds or 0
    shape = {"deployments": number, "screening": first, "confirming": number - first}
    which = "step-deployments-looked" if report.campaign.plan.looks else "step-deployments"
    planned = [say(which, **shape)] if number > 1 else []
    if resumed := report.campaign.resumed_after:
        after = items(resumed, report.language)
        again = "yes" if report.plan.can.administers else "no"
        planned.append(say("step-resumed", after=after, again=again))
    return tuple(planned)


def _slowdown(report: Report) -> tuple[str, ...]:
    if not report.plan.slowdown_pct:
        return ()
    limit = report.numbers.limit(report.plan.slowdown_pct)
    return (report.language.say("step-slowdown", limit=limit),)


def _order(report: Report) -> str:
    plan = report.plan
    in_sequence = plan.placement == "sequential" or not report.has_verdicts
    step = "step-sequential" if in_sequence else "step-interleaved"
    counts = (str(n) for name in plan.workloads_in_order for n in plan.threads_in_order(name))
    return report.language.say(
        step,
        rounds=plan.screening_rounds or plan.rounds,
        threads=items(dict.fromkeys(counts), report.language),
        seed=str(plan.seed),
    )


def _restore(report: Report) -> str:
    say = report.language.say
    source = "snapshot" if report.plan.can.administers else "client"
    said = say(f"restore-{report.spec.restore.replace('_', '-')}", source=source)
    if report.fleet is None or source == "client" or report.spec.restore == "never":
        return said
    return wording.sentences((said, say("after-restore")), report)


def _leaders(report: Report) -> tuple[str, ...]:
    if not report.plan.can.deploys_clusters:
        return ()
    return (report.language.say("step-leaders", leaders=report.spec.leaders.replace("_", "-")),)


def _trial(report: Report) -> str:
    return report.language.say(
        "step-trial",
        where=_where(report) if report.plan.can.administers else "existing",
        balancer=report.spec.balancer,
        warmup=str(report.spec.warmup_seconds or "cold"),
        when="each" if all(trial.warm_up for trial in report.plan.trials) else "started",
        seconds=wording.seconds(report),
    )


def how_to_read(report: Report) -> tuple[str, ...]:
    """The decision rule in six sentences; for one version, what its figures mean."""
    if not report.has_verdicts:
        return (report.language.say("read-one-version"), report.language.say("read-one-alone"))
    say, limit = report.language.say, report.numbers.limit(report.spec.threshold_pct)
    few = "-few-rounds" if report.plan.rounds < LEAST_ROUNDS else ""
    unstable = say("read-unstable", dataset="checked" if report.consistency else "other")
    return (
        say("read-round", placement=report.plan.placement),
        say("read-estimate", deployments="known" if report.is_calibrated else "unknown"),
        say(
            "read-change",
            limit=limit,
            alpha=f"{ALPHA:g}",
            workloads=len(report.sections),
            level=report.numbers.share(ALPHA, 0),
        ),
        wording.sentences((say("read-equivalent", limit=limit), unstable), report),
        say(f"read-inconclusive{few}"),
        say("read-rows"),
    )


def about(report: Report) -> str:
    """The campaign in one line: id, start, duration, hosts."""
    say, fleet, took = report.language.say, report.fleet, report.campaign.took
    machine = [report.machine[name] for name in ("memory",) if name in report.machine]
    cores = wording.cores(report)
    where = [*([say("about-cores", cores=cores)] if cores else ()), *machine]
    if fleet is not None:
        where = [say("about-hosts", hosts=fleet.total, rented="yes" if fleet.rented else "no")]
    lasted = report.numbers.duration(took) if took is not None else None
    began = _when(report.campaign.started_at, report)
    return say("about-separator").join(
        filter(None, (report.campaign.id, began, lasted, items(where, report.language)))
    )


def provenance(report: Report) -> tuple[tuple[str, str], ...]:
    """The report's provenance, as names and values."""
    say, plan = report.language.say, report.plan
    sequential = plan.placement == "sequential" and report.has_verdicts
    values = {
        "campaign": report.campaign.id,
        "report-type": say(
            "provenance-report-type-value",
            report=plain(plan.report),
            title=plain(report.spec.title),
        ),
        "state": say(f"state-{report.campaign.state}"),
        "origin": report.campaign.origin or MISSING,
        "approved": _approved(report),
        "started": _when(report.campaign.started_at, report),
        "duration": report.numbers.duration(report.campaign.took),
        "estimate": _estimate(report),
        "spent": spent(report),
        "topology": plan.topology,
        "placement": say("placement-sequential") if sequential else None,
        "seed": None if sequential or not report.has_verdicts else str(plan.seed),
        "calibration": items(report.calibration, report.language) or None,
        "earlier": items(report.earlier, report.language) or None,
        "checksum": _by_side(report, lambda side: side.dataset_checksum or MISSING),
        "rows": _by_side(report, lambda side: report.numbers.whole(side.rows)),
        "benchlab": report.environment.get("benchlab") or MISSING,
    }
    return tuple(
        (say(f"provenance-{n}"), value) for n, value in values.items() if value is not None
    )


def _when(moment: datetime, report: Report) -> str:
    """A point in time, in UTC."""
    from babel.dates import format_datetime

    pattern = report.language.say("time-pattern")
    return format_datetime(moment.astimezone(UTC), pattern, locale=report.language.locale)


def _approved(report: Report) -> str | None:
    """Who approved its cost and when; None if nobody had to."""
    found = approval.found(report.environment)
    if found is None or found.at is None:
        return None
    who, when = plain(found.by), _when(found.at, report)
    return report.language.say("provenance-approved-value", who=who, when=when)


def _estimate(report: Report) -> str | None:
    """The plan's estimate of time and cost; None where nothing is rented."""
    if report.plan.dollars is None:
        return None
    return report.language.say(
        "provenance-estimate-value",
        duration=report.numbers.duration(timedelta(minutes=report.plan.minutes)),
        dollars=report.numbers.rate(report.plan.dollars, 2),
        day=report.plan.prices_as_of or MISSING,
    )


def spent(report: Report) -> str | None:
    """What the hosts cost; None if it was not recorded."""
    dollars, budget = report.environment.get(SPENT), report.spec.budget
    if dollars is None or budget is None:
        return None
    return report.language.say(
        "provenance-spent-value",
        dollars=dollars,
        planned=report.numbers.rate(report.plan.dollars, 2),
        limit=report.numbers.rate(budget.limit, 2),
    )


def sources(report: Report) -> str:
    """Where to find the data behind a figure."""
    kept = sum(result.raw is not None for result in report.results)
    return report.language.say("sources", kept=kept, executed=len(report.results))


def _by_side(report: Report, value: Callable[[ReportSide], str]) -> str:
    """A value for each side; stated once where they agree."""
    values = {side.side: value(side) for side in report.sides.values()}
    if len(set(values.values())) > 1:
        return report.language.say("of-each-side", **values)
    shared = next(iter(values.values()))
    return shared if shared == MISSING else report.language.say("of-both-sides", value=shared)


# The setting: hosts, programs, parameters, variables


def _fleet_notes(report: Report, fleet: FleetHardware) -> tuple[str, ...]:
    """What affects the conclusions because of how the fleet was used."""
    say = report.language.say
    same = [say("fleet-same-hosts")] if report.has_verdicts else []
    found = [*same, _entry(report, fleet)]
    if report.plan.placement == "sequential" and report.has_verdicts:
        found.append(say("fleet-sequential"))
    if report.restored_dataset:
        found.append(say("fleet-restored-dataset"))
    return tuple(found)


def _entry(report: Report, fleet: FleetHardware) -> str:
    """How the client connects to the servers."""
    client = next((role for role in fleet.roles if role.role == "client"), None)
    host = client.hosts[0] if client and client.hosts else None
    others = [role for role in fleet.shared.get(host or "", ()) if role != "client"]
    where = {
        "host": host or report.language.say("fleet-client-host"),
        "others": items(others, report.language) or "none",
    }
    if report.spec.load_balancer == "none":
        to = "server" if report.plan.can.administers else "endpoint"
        return report.language.say("fleet-entry-direct", to=to, **where)
    port, servers = str(report.spec.ports.entry), fleet.number("tidb")
    return report.language.say("fleet-entry", port=port, servers=servers, **where)


def published(report: Report) -> str:
    """Which document the plan follows, and a lead-in to the list of differences; empty if none."""
    found, language = report.spec.published, report.language
    if found is None:
        return ""
    said = [language.say("published-document", document=found.document)]
    if found.sentences:
        said.append(language.say("published-differences"))
    return language.say("between-sentences").join(said)


def parameters(report: Report) -> str:
    """Whether the sides were asked for the same parameters."""
    plan = report.plan
    if not plan.can.administers and report.spec.engines[plan.engine].by_workload:
        return report.language.say("parameters-not-set")
    alike = "same" if same(report.campaign) else "different"
    labels = {name: side.label for name, side in report.sides.items()}
    return report.language.say(
        f"parameters-{alike if report.parameter_blocks else 'none'}", **labels
    )


def variables(report: Report) -> str:
    """How many effective variables differ without having been set to differ, in one sentence."""
    found, say = report.variables, report.language.say
    if not found.known:
        return say("variables-unknown", missing=MISSING)
    return say(
        "variables-found",
        compared=found.compared,
        changed=len(found.changed),
        trivial=found.trivial,
        **{side: len(names) for side, names in found.only.items()},
    )


def asked_alike(report: Report) -> str | None:
    """The variables that were set to the same value but differ; None if there are none."""
    names = [change.name for change in report.variables.changed if change.asked]
    if not names:
        return None
    return report.language.say("variables-asked-alike", names=items(names, report.language))


def machine(report: Report) -> list[tuple[str, str]]:
    """The recorded facts about the machine, as names and values."""
    facts = report.machine.items()
    return [(_name(report, f"machine-{name}", name), value) for name, value in facts]


def software(report: Report) -> list[Row]:
    """The rows of the software table: servers, then tools with their versions and hashes."""
    tools, hashes = report.software.items(), report.environment
    return [
        *(report.servers or [_server(report, side) for side in report.sides.values()]),
        *(
            (
                _name(report, f"tool-{name}", name),
                tool(report, name, version),
                hashes.get(HASH_OF.format(name)),
            )
            for name, version in tools
        ),
    ]


def script(report: Report) -> str | None:
    """What the hash of TiUP's install script covers, and whether it changed; None: no script."""
    if SCRIPT not in report.environment:
        return None
    day, _, sha256 = report.environment.get(SCRIPT_BEFORE, "").partition(" ")
    said = [report.language.say("software-script")]
    if sha256:
        said.append(report.language.say("software-script-changed", day=day, sha256=sha256))
    return report.language.say("between-sentences").join(said)


def _server(report: Report, side: ReportSide) -> Row:
    """A side's row: its version, and the one its server reports if that differs."""
    say, name = report.language.say, side_name(side.side)
    version = side.version
    if side.server is not None and side.server != version:
        version = say("software-version", asked=version, reported=side.server)
    return say("software-component", service=report.engine_title, side=name), version, side.git_hash


def tool(report: Report, name: str, value: str) -> str:
    """A tool's version; for the client, with the one that the published document names."""
    theirs = report.spec.published.client if report.spec.published else None
    if theirs is None:
        return value
    # TPC-C's client has its own row: the row ``tiup`` is the tool that deploys clusters.
    row = "client" if report.client == "TPC-C" else theirs.split()[0]
    if name != row:
        return value
    return report.language.say("published-tool", version=value, published=theirs)


def _name(report: Report, known: str, name: str) -> str:
    """A recorded name in the report's language; unchanged if there is no message ``known``."""
    known = known.replace("_", "-")
    return report.language.say(known) if report.language.has(known) else name
