"""A plan as text for people: its steps, how long it takes, what it needs and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from benchlab import targets
from benchlab.plan.fields.published import Published
from benchlab.plan.plan import Plan, mean_quiet_minutes, needs_approval
from benchlab.plan.pricing import OLD
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.steps import GIB, RESERVE_SHARE, diagnosis_minutes, reserve_bytes

ESTIMATES = (
    "estimates: the times and the disk space of a fleet are assumed, not measured, where nothing "
    "else is said; steps.py has every assumption"
)


def render(
    spec: ReportSpec,
    plan: Plan,
    reason: str,
    *,
    client: str | None = None,
    arrangements: Sequence[str] = (),
    not_runnable: str = "",
    sensitivity: Sequence[str] = (),
) -> str:
    """The plan as ``benchlab plan`` prints it.

    Args:
        reason: why the plan's engine was chosen.
        client: which client is used, and why; None where there is no choice.
        arrangements: lines on how hosts are reached and get TiUP.
        not_runnable: why a campaign would be refused; empty: it would not.
        sensitivity: lines on the smallest slowdown that it detects.
    """
    parts = [
        _head(plan, client),
        _trials(spec, plan),
        # What readers look for comes last, after the long list of trials.
        _published(spec.published, plan) if spec.published else iter(()),
        _steps(plan),
        _needs(spec, plan),
        iter(arrangements),
        iter([f"engine: {reason}"] if spec.engine == "auto" else []),
        iter(sensitivity),
        iter([f"warning: {warning}" for warning in plan.warnings]),
        iter([f"cannot be run: {not_runnable}"] if not_runnable else []),
    ]
    blocks = ["\n".join(part) for part in parts]
    return "\n\n".join(block for block in blocks if block)


def description(spec: ReportSpec) -> str:
    """What a report type compares or measures, and where, in one line.

    >>> description(report_type)
    'v6.1.0 against v6.5.0: 4 workloads x 3 thread counts x 6 rounds on own hosts'
    """
    return f"{measured(spec)} on {targets.by_name()[spec.target].place}"


def measured(spec: ReportSpec) -> str:
    """What a report type compares or measures: :func:`description` without the place."""
    pairs = (
        " against ".join(
            dict.fromkeys(side.label for side in (entry.baseline, entry.candidate) if side)
        )
        for entry in (spec.engines[name] for name in spec.deployable_engines)
    )
    cells = {"workload": len(spec.workloads), "thread count": len(spec.threads)}
    if spec.threads_by_workload or spec.rate is not None:
        cells = {"cell": sum(len(spec.threads_of(workload)) for workload in spec.workloads)}
    counts = {**cells, "round": spec.rounds}
    size = " x ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items())
    return f"{' or '.join(dict.fromkeys(pairs))}: {size}"


def question(spec: ReportSpec, plan: Plan, month: str) -> str:
    """The text of an approval request in Markdown, for a plan that rents hosts.

    Args:
        month: what is spent and committed already.
    """
    return "\n".join(_question(spec, plan, month))


def _question(spec: ReportSpec, plan: Plan, month: str) -> Iterator[str]:
    versions = " vs. ".join(f"{side} {spec.label}" for side, spec in plan.sides.items())
    yield f"**{plan.report}**: {plan.engine}, {versions}; {rounds(plan)}, {trials(plan)}"
    yield ""
    if plan.dollars is None:
        yield f"- {_unpriced(plan)}"
    else:
        yield f"- about **{plan.dollars:.2f} dollars**, {_priced(plan)}"
        yield from (f"- {line}" for line in _beside(spec, plan))
        yield from (f"- {dearest}" for dearest in _dearest(plan))
    if spec.budget is not None:
        yield (
            f"- asked for above {spec.budget.approve_above:g} dollars, refused above "
            f"{spec.budget.limit:g}, where it also stops measuring"
        )
    yield f"- {month}"
    yield f"- about **{duration(plan.minutes)}** ({plan.minutes:.0f} minutes)"
    yield from (f"- {line}" for line in _stages(spec, plan))
    yield from (f"- {line}" for line in _repeats(spec, plan))
    yield from (f"- {line}" for line in _diagnosis(spec, plan))
    yield f"- {len(plan.hosts)} hosts of {plan.topology}: {_kinds(plan)}"
    if plan.vcpus is not None:
        yield f"- {plan.vcpus} vCPUs, which the account's quota has to allow"
    yield from (f"- {line}" for line in _dataset(plan))
    yield from (f"- **warning**: {warning}" for warning in plan.warnings)
    yield ""
    yield (
        "Approved, the hosts are rented, and given back when the campaign ends, however it ends. "
        "Rejected, nothing is rented and the campaign fails."
    )
    yield ""
    yield from (f"{line[0].upper()}{line[1:]}." for line in (*_learned(plan), ESTIMATES))


def _kinds(plan: Plan) -> str:
    kinds = Counter((host.role, host.instance_type) for host in plan.hosts)
    return ", ".join(
        f"{n} x {role}{f' ({kind})' if kind else ''}" for (role, kind), n in kinds.items()
    )


def compared(plan: Plan) -> str:
    """The labels of a plan's sides, as in titles: ``10.11.5 vs. 10.2.11``."""
    return " vs. ".join(side.label for side in reversed(plan.sides.values()))


def duration(minutes: float) -> str:
    """``4.9 h`` from two hours on, else ``9.5 min``."""
    return f"{minutes / 60:.1f} h" if minutes >= 120 else f"{minutes:.1f} min"


def trials(plan: Plan) -> str:
    """``96 trials``, ``up to 192 trials``, or ``48 trials, and up to 96 that confirm``."""
    screening = len(plan.confirming(()).trials)
    more = len(plan.trials) - screening
    if plan.looks:
        return f"up to {screening} trials"
    return f"{screening} trials" + (f", and up to {more} that confirm" if more else "")


def rounds(plan: Plan) -> str:
    """Rounds per deployment: ``6 rounds``, ``2 deployments of each side, 2 or 3 rounds each``."""
    if plan.screening_rounds is not None:
        return (
            f"{plan.screening_rounds} deployments of each side with one round, and up to "
            f"{plan.confirming_rounds} more for what these flag"
        )
    if plan.deployments == 1:
        return f"{plan.rounds} round{'s' * (plan.rounds != 1)}"
    least, more = divmod(plan.rounds, plan.deployments)
    each = f"{least} or {least + 1}" if more else str(least)
    plural = "s" * (more > 0 or least != 1)
    up_to = "up to " if plan.looks else ""
    return f"{up_to}{plan.deployments} deployments of each side, {each} round{plural} each"


def _head(plan: Plan, client: str | None) -> Iterator[str]:
    versions = ", ".join(f"{side} {spec.label}" for side, spec in plan.sides.items())
    where = plan.target if plan.topology is None else f"{plan.target} ({plan.topology})"
    yield f"{plan.report} on {where} with {plan.engine}"
    if client is not None:
        yield f"client: {client}"
    order = f"{plan.placement}, {rounds(plan)}"
    yield f"{versions}; {order}, {trials(plan)}, seed {plan.seed}"
    if plan.interleave_minutes is not None:
        yield (
            "the sides take turns trial by trial, so that noise that comes and goes within a pair "
            f"of blocks meets both alike: {duration(plan.interleave_minutes)} of the time, and "
            f"{plan.server_starts} starts of a server"
        )
    if plan.slowdown_pct:
        yield f"the candidate is slowed down by {plan.slowdown_pct:g}% on purpose"


def _steps(plan: Plan) -> Iterator[str]:
    yield "steps"
    for number, step in enumerate(plan.steps, 1):
        side = f"{step.side}: " if step.side else ""
        only = " (only if flagged)" if step.confirms else ""
        yield f"{number:4d}  {step.minutes:6.1f} min  {step.stage:9}  {side}{step.what}{only}"
    yield f"{'':4}  {plan.minutes:6.1f} min  together: about {duration(plan.minutes)}"


def _needs(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    if plan.topology is None:
        disk = "" if spec.connections else f" and {plan.disk_gib:g} GiB of disk"
        yield f"about {plan.minutes:g} minutes{disk}; nothing is rented"
        yield from _stages(spec, plan)
        yield from _repeats(spec, plan)
        yield from _diagnosis(spec, plan)
        yield from _learned(plan)
        return
    yield f"hosts: {_kinds(plan)}"
    if plan.vcpus is not None:
        yield f"vCPUs: {plan.vcpus}, which the account's quota has to allow"
    yield f"disk: about {plan.disk_gib:g} GiB on each storage host, for {_kept_on_disk(plan)}"
    if plan.dollars is None:
        yield _unpriced(plan)
    else:
        yield f"dollars: about {plan.dollars:.2f}, {_priced(plan)}"
        yield from _dearest(plan)
        yield from _beside(spec, plan)
    yield from _stages(spec, plan)
    yield from _repeats(spec, plan)
    yield from _diagnosis(spec, plan)
    yield from _dataset(plan)
    if spec.budget is not None:
        approval = (
            "a person has to approve it" if needs_approval(plan, spec.budget) else "not needed"
        )
        yield (
            f"limits: approval above {spec.budget.approve_above:g} dollars ({approval}), refused "
            f"above {spec.budget.limit:g}, where it also stops measuring"
        )
    yield from _learned(plan)
    yield ESTIMATES


def _stages(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """What a campaign takes that its design ends early, and one that it does not."""
    if plan.looks:
        first = plan.looks[0]
        yield (
            f"it ends as soon as every workload is decided, after {first} deployments at the "
            f"earliest: {priced_minutes(plan, plan.minutes_until(first))}; this is a campaign of "
            f"all {plan.deployments}"
        )
    if every := getattr(spec.schedule, "canary_every", 0):
        dearest = "this one" if plan.screening_rounds is None else "one with a workload confirmed"
        yield f"every {every} weeks the schedule has a canary, which takes no more than {dearest}"
    if plan.screening_rounds is None:
        return
    one = max(plan.minutes_to_confirm([name]) for name in plan.workloads)
    yield (
        "this is a campaign in which nothing is flagged; on average, while nothing changes: "
        f"{priced_minutes(plan, mean_quiet_minutes(plan))}; with one workload confirmed: "
        f"{priced_minutes(plan, plan.minutes + one)}"
    )
    most, limit = plan.most_minutes, spec.budget.limit if spec.budget else None
    yield f"with all {len(plan.workloads)} workloads confirmed: {priced_minutes(plan, most)}"
    hourly = plan.most_usd_per_minute
    if hourly is not None and limit is not None and most * hourly > limit:
        yield (
            f"that is more than the limit of {limit:g} dollars: the workloads with the strongest "
            "evidence are confirmed, and the report names the others; a bridge to a new anchor, "
            "which measures all of them, is refused until the limit is raised"
        )


def priced_minutes(plan: Plan, minutes: float) -> str:
    """``4.0 h, 31.93 dollars``, or the time alone where nothing is priced."""
    if plan.usd_per_minute is None:
        return duration(minutes)
    return f"{duration(minutes)}, {minutes * plan.usd_per_minute:.2f} dollars"


def _kept_on_disk(plan: Plan) -> str:
    if not plan.can.administers:
        return "data"
    asked = reserve_bytes([side.components for side in plan.sides.values()], 0) / GIB
    if not asked:
        return "data, snapshots and programs"
    return (
        f"data, snapshots, programs and TiKV's reserve ({asked:g} GiB; on a disk above "
        f"{asked / RESERVE_SHARE:g} GiB, {100 * RESERVE_SHARE:g} % of it)"
    )


def _repeats(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """How much time and money repeats may add to the plan, and the cost at worst."""
    if not plan.repeat_minutes:
        return
    more = duration(plan.repeat_minutes)
    if plan.repeat_dollars is not None:
        more += f" and {plan.repeat_dollars:.2f} dollars"
    times = f"{spec.repeat_limit} time{'s' * (spec.repeat_limit != 1)}"
    yield (
        f"repeats: up to {more} more, which is not counted above; only blocks with an "
        f"invalid trial are measured again, each at most {times}"
    )
    if plan.dollars is None or plan.repeat_dollars is None or spec.budget is None:
        return
    # Hosts are rented for as long as the limit pays for the dearest that the topology allows.
    most = plan.most_dollars or plan.dollars
    repeats = plan.repeat_dollars * most / plan.dollars
    # With `design: watch` the rounds that confirm are measured and repeated as well.
    repeats *= plan.rounds / (plan.screening_rounds or plan.rounds)
    most *= plan.most_minutes / plan.minutes
    limit, worst = spec.budget.limit, most + repeats
    confirmed = "all workloads confirmed, and " if plan.screening_rounds else ""
    if worst <= limit:
        yield (
            f"at worst: {worst:.2f} dollars, with {confirmed}all blocks measured again as often "
            "as allowed"
        )
        return
    if most >= limit:
        yield f"at worst: {limit:.2f} dollars, the limit, at which it stops measuring"
        return
    pairs = len({trial.pair for trial in plan.trials})
    room = int((limit - most) / (repeats / (spec.repeat_limit * pairs)))
    yield (
        f"at worst: {limit:.2f} dollars, the limit, at which it stops measuring; that pays for "
        f"{room} pair{'s' * (room != 1)} of blocks beside the {pairs} of the plan"
    )


def _diagnosis(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """What diagnosis trials may add to the plan."""
    if spec.diagnose == "never" or len(plan.sides) < 2 or not plan.can.administers:
        return
    when = "where a workload changed, " if spec.diagnose == "on_change" else ""
    within = ", within the limit" if spec.budget is not None else ""
    more = priced_minutes(plan, diagnosis_minutes(plan.minutes))
    yield f"diagnosis: {when}up to {more} more, which is not counted above{within}"


def _dataset(plan: Plan) -> Iterator[str]:
    """Whether the dataset is on S3, and what the plan would take and cost if it were."""
    if plan.dataset == "kept":
        yield "dataset: it is on S3, and BR restores it into both sides"
    if plan.seeded_minutes is None or plan.seeded_dollars is None:
        return
    if plan.dataset is None and plan.seeded_minutes >= plan.minutes:
        return  # so small a dataset is loaded sooner
    before = {
        None: "with dataset snapshots (`snapshots: s3://...`), once there are some",
        "missing": "dataset: it is not on S3 yet, so that it is loaded and kept there; once it is",
        "unknown": "dataset: whether it is on S3 is not known; if it is",
    }
    would = f"{duration(plan.seeded_minutes)}, {plan.seeded_dollars:.2f} dollars"
    yield f"{before[plan.dataset]}: {would}"


def _learned(plan: Plan) -> Iterator[str]:
    """Which times rest on earlier campaigns, and on how many."""
    if plan.learned:
        steps = (f"{step} (of {found.campaigns})" for step, found in plan.learned.items())
        yield f"from earlier campaigns here, the median of what they took: {', '.join(steps)}"


def _priced(plan: Plan) -> str:
    """The day of the prices, with a hint if they are old."""
    text = f"at list prices of {plan.prices_as_of}"
    if plan.prices_as_of is None:
        return text
    age = datetime.now(UTC).date() - date.fromisoformat(plan.prices_as_of)
    if age <= OLD:
        return text
    return f"{text}, more than {OLD.days} days old: `benchlab prices update` asks AWS for today's"


def _beside(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """What the estimated dollars include and do not include."""
    yield "included: hosts and their volumes; all are in one zone, so zones exchange no traffic"
    if spec.snapshots is None:
        return
    if plan.s3_usd_a_month is None:
        yield "not included: the dataset snapshot on S3; `benchlab prices update` adds its price"
    else:
        yield (
            f"not included: about {plan.s3_usd_a_month:.2f} dollars a month for each dataset "
            "snapshot on S3, until you delete it"
        )


def _dearest(plan: Plan) -> Iterator[str]:
    """What it costs at most, if the preferred hosts are not available."""
    if plan.most_dollars is not None:
        yield (
            f"at most {plan.most_dollars:.2f} dollars, for the dearest hosts that the topology "
            "allows; this is what the limits are compared with"
        )


def _unpriced(plan: Plan) -> str:
    if plan.can.rents:
        return "dollars: not estimated; the topology does not say what such a cluster costs"
    return "dollars: none; nothing is rented"


def _published(published: Published, plan: Plan) -> Iterator[str]:
    yield f"as published: {published.document}"
    if published.client:
        yield f"client of the document: {published.client}"
    if plan.page_minutes is not None:
        yield (
            f"this plan: {duration(plan.minutes)}; as on the page, one step after another by hand: "
            f"{duration(plan.page_minutes)}"
        )
        yield "(the page does not check its data)"
    yield "differences from the document:"
    yield from (f"  - {difference}" for difference in published.sentences)


def _trials(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    yield "trials"
    if spec.seed is None and plan.threads:
        yield "their order is an example: each campaign's id decides its own"
    for trial in plan.trials:
        confirms = ", only if flagged" if plan.confirms(trial.round) else ""
        restore = "restore, " if trial.restore else ""
        configure = "configure, " if trial.configure else ""
        warm_up = "warm-up, " if trial.warm_up and spec.warmup_seconds else ""
        before = f"{restore}{configure}{warm_up}"
        yield f"{trial.index + 1:5d}  {trial.title} · {before}{trial.seconds} s{confirms}"
