"""A plan as text for people: what is done, how long it takes, what it needs and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchlab.plan.plan import Plan, needs_approval
from benchlab.plan.report_type import Published, ReportSpec
from benchlab.plan.steps import worst_minutes

ESTIMATES = (
    "estimates: the times and the disk space of a fleet are assumed, not measured; steps.py has "
    "every assumption"
)


def render(
    spec: ReportSpec,
    plan: Plan,
    reason: str,
    *,
    not_runnable: str | None = None,
    sensitivity: Sequence[str] = (),
) -> str:
    """The whole plan.

    Args:
        reason: why this engine was chosen.
        not_runnable: the sentence of a target that can only be planned for.
        sensitivity: lines on how small a slowdown it finds.
    """
    parts = [
        _head(plan, reason),
        _steps(plan),
        _needs(spec, plan),
        iter(sensitivity),
        iter([f"warning: {warning}" for warning in plan.warnings]),
        _published(spec.published, plan) if spec.published else iter(()),
        iter((f"cannot be run: {not_runnable}",)) if not_runnable else iter(()),
        _trials(spec, plan),
    ]
    blocks = ["\n".join(part) for part in parts]
    return "\n\n".join(block for block in blocks if block)


def question(spec: ReportSpec, plan: Plan) -> str:
    """What a person is asked to approve, in Markdown; for a plan whose hosts are rented."""
    return "\n".join(_question(spec, plan))


def _question(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    versions = " vs. ".join(f"{side} {spec.version}" for side, spec in plan.sides.items())
    yield f"**{plan.report}**: {plan.engine}, {versions}; {len(plan.trials)} trials"
    yield ""
    if plan.dollars is None:
        yield f"- {_unpriced(plan)}"
    else:
        yield f"- about **{plan.dollars:.2f} dollars**, at list prices of {plan.prices_as_of}"
        yield from (f"- {dearest}" for dearest in _dearest(plan))
    if spec.budget is not None:
        yield (
            f"- asked for above {spec.budget.approve_above:g} dollars, refused above "
            f"{spec.budget.limit:g}, where it also stops measuring"
        )
    yield from (f"- {worst}" for worst in _worst(spec, plan))
    yield f"- about **{duration(plan.minutes)}** ({plan.minutes:.0f} minutes)"
    yield f"- {len(plan.hosts)} hosts of {plan.topology}: {_kinds(plan)}"
    if plan.vcpus is not None:
        yield f"- {plan.vcpus} vCPUs, which the account's quota has to allow"
    if plan.seeded_minutes is not None and plan.seeded_dollars is not None:
        yield (
            f"- with dataset snapshots it would be {duration(plan.seeded_minutes)} and "
            f"{plan.seeded_dollars:.2f} dollars"
        )
    yield from (f"- **warning**: {warning}" for warning in plan.warnings)
    yield ""
    yield (
        "Approved, the hosts are rented, and given back when the campaign ends, however it ends. "
        "Rejected, nothing is rented and the campaign fails."
    )
    yield ""
    yield f"{ESTIMATES[0].upper()}{ESTIMATES[1:]}."


def _kinds(plan: Plan) -> str:
    kinds = Counter((host.role, host.instance_type) for host in plan.hosts)
    return ", ".join(
        f"{n} x {role}{f' ({kind})' if kind else ''}" for (role, kind), n in kinds.items()
    )


def duration(minutes: float) -> str:
    """``4.9 h`` from two hours on, else ``9.5 min``."""
    return f"{minutes / 60:.1f} h" if minutes >= 120 else f"{minutes:.1f} min"


def _head(plan: Plan, reason: str) -> Iterator[str]:
    versions = ", ".join(f"{side} {spec.version}" for side, spec in plan.sides.items())
    where = plan.target if plan.topology is None else f"{plan.target} ({plan.topology})"
    rounds = f"{plan.rounds} round{'s' * (plan.rounds != 1)}"
    yield f"{plan.report} on {where} with {plan.engine} ({reason})"
    yield f"{versions}; {plan.placement}, {rounds}, {len(plan.trials)} trials, seed {plan.seed}"
    if plan.slowdown_pct:
        yield f"the candidate is slowed down by {plan.slowdown_pct:g}% on purpose"


def _steps(plan: Plan) -> Iterator[str]:
    yield "steps"
    for number, step in enumerate(plan.steps, 1):
        side = f"{step.side}: " if step.side else ""
        yield f"{number:4d}  {step.minutes:6.1f} min  {step.stage:9}  {side}{step.what}"
    yield f"{'':4}  {plan.minutes:6.1f} min  together: about {duration(plan.minutes)}"


def _needs(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    if plan.topology is None:
        yield (
            f"about {plan.minutes:g} minutes and {plan.disk_gib:g} GiB of disk; nothing is rented"
        )
        return
    yield f"hosts: {_kinds(plan)}"
    if plan.vcpus is not None:
        yield f"vCPUs: {plan.vcpus}, which the account's quota has to allow"
    yield f"disk: about {plan.disk_gib:g} GiB on each storage host, for data and snapshots"
    if plan.dollars is None:
        yield _unpriced(plan)
    else:
        yield f"dollars: about {plan.dollars:.2f}, at list prices of {plan.prices_as_of}"
        yield from _dearest(plan)
    yield from _worst(spec, plan)
    if plan.seeded_minutes is not None and plan.seeded_dollars is not None:
        yield (
            f"with dataset snapshots (`snapshots: s3://...`), once there are some: "
            f"{duration(plan.seeded_minutes)}, {plan.seeded_dollars:.2f} dollars"
        )
    if spec.budget is not None:
        approval = (
            "a person has to approve it" if needs_approval(plan, spec.budget) else "not needed"
        )
        yield (
            f"limits: approval above {spec.budget.approve_above:g} dollars ({approval}), refused "
            f"above {spec.budget.limit:g}, where it also stops measuring"
        )
    yield ESTIMATES


def _worst(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """What it takes if every pair of blocks has to be measured again as often as is allowed."""
    if plan.usd_per_minute is not None and spec.repeat_limit:
        minutes = worst_minutes(plan.steps, spec.repeat_limit)
        yield (
            f"at worst, with all pairs of blocks measured {spec.repeat_limit + 1} times: "
            f"{duration(minutes)}, {minutes * plan.usd_per_minute:.2f} dollars"
        )


def _dearest(plan: Plan) -> Iterator[str]:
    """What it costs where the preferred hosts are not to be had."""
    if plan.most_dollars is not None:
        yield (
            f"at most {plan.most_dollars:.2f} dollars, for the dearest hosts that the topology "
            "allows; this is what the limits are compared with"
        )


def _unpriced(plan: Plan) -> str:
    if plan.target == "tidb_cloud":
        return "dollars: not estimated; TiDB Cloud's prices are not in the price list"
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
        yield "(the page neither checks its data nor measures again what is invalid)"
    yield "differences from the document:"
    yield from (f"  - {difference}" for difference in published.differences)


def _trials(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    yield "trials"
    if spec.seed is None and plan.placement == "interleaved":
        yield "the order of the blocks is an example: each campaign's id decides its own"
    for trial in plan.trials:
        restore = "restore, " if trial.restore else ""
        yield f"{trial.index + 1:5d}  {trial.title} · {restore}{trial.seconds} s"
