"""A report type becomes the fields of the trigger form."""

from __future__ import annotations

from airflow.sdk import Param

from benchlab import home, language, targets, workloads
from benchlab.campaign import report_types
from benchlab.plan.dataset import AnyDataset, Warehouses
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.results.records import ID

OWN_PLAN = "none"
ANY_CLIENT = "auto"
MEASURE_AGAIN = "measure_again"

# Sections of the form that are folded until they are opened; fields without one are in sight.
_DATASET = "Dataset"
_FLEET = "Fleet"
_METHOD = "Method"
_CAMPAIGN = "Campaign and other fields"

# Lists that the form shows as a text area, one item a line. It does so where the items have no
# `type` of their own; else there would be an editor for JSON, in which typing is no pleasure. What
# was typed comes as strings; the REST API may send numbers and an object as well.
_THREADS = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": 10_000},
        {"type": "string", "pattern": "^([1-9][0-9]{0,4})?$"},
    ]
}
_ASSIGNMENTS = [
    {"type": "array", "items": {"type": "string", "pattern": "^([a-z][a-z0-9_.]*=.*)?$"}},
    {"type": "object"},
    {"type": "null"},
]


def form(spec: ReportSpec) -> dict[str, Param]:
    """The trigger form of a report type; its defaults are the report type's own values.

    What most campaigns change comes first; the rest is folded into sections.
    """
    return {
        **_published(spec),
        "baseline": _version(spec, "baseline"),
        "candidate": _version(spec, "candidate"),
        **_engine(spec),
        "workloads": Param(
            list(spec.workloads),
            type="array",
            items={"type": "string", "enum": _workloads(spec)},
            examples=_workloads(spec),
            title="Workloads",
            description="Each gets a verdict of its own.",
            minItems=1,
            uniqueItems=True,
        ),
        "threads": Param(
            list(spec.threads),
            type="array",
            items=_THREADS,
            title="Client threads",
            description="Whole numbers, one a line. Every workload is measured with each of them.",
            minItems=1,
            uniqueItems=True,
        ),
        "rounds": Param(
            spec.rounds,
            type="integer",
            minimum=1,
            maximum=1000,
            title="Rounds",
            description="How often everything is measured on both sides. More find smaller "
            "differences; one alone is always inconclusive.",
        ),
        "seconds": Param(
            spec.seconds,
            type="integer",
            minimum=1,
            maximum=86_400,
            title="Seconds a trial",
            description="What is measured; the warm-up comes before.",
        ),
        **_dataset(spec.dataset),
        **_fleet(spec),
        "warmup_seconds": Param(
            spec.warmup_seconds,
            type="integer",
            minimum=0,
            maximum=3600,
            title="Warm-up seconds",
            description="Before each trial, not measured.",
            section=_METHOD,
        ),
        **_client(spec),
        "restore": Param(
            spec.restore,
            type="string",
            enum=["every_trial", "after_writes", "per_workload", "never"],
            values_display={
                "every_trial": "every_trial: before each trial",
                "after_writes": "after_writes: before a trial, if one before it wrote",
                "per_workload": "per_workload: before each workload's thread counts, once",
            },
            title="Restore",
            description="When the freshly loaded data is laid back.",
            section=_METHOD,
        ),
        "threshold_pct": Param(
            spec.threshold_pct,
            type="number",
            exclusiveMinimum=0,
            maximum=50,
            title="Threshold (%)",
            description="The smallest change that is called a regression or an improvement.",
            section=_METHOD,
        ),
        **_sides(spec),
        **_slowdown(spec),
        **_measure_again(spec),
        "languages": Param(
            list(spec.languages),
            type="array",
            items={"type": "string", "enum": list(language.codes())},
            examples=list(language.codes()),
            title="Languages",
            description="Of the report; its main page is in the first.",
            minItems=1,
            uniqueItems=True,
            section=_CAMPAIGN,
        ),
        "campaign": Param(
            None,
            type=["null", "string"],
            pattern=f"^{ID}$",
            title="Campaign id",
            description="Empty: made from the run's id. A campaign of this id that was not "
            "finished is gone on with.",
            section=_CAMPAIGN,
        ),
        "overrides": Param(
            [],
            anyOf=_ASSIGNMENTS,
            title="Other fields",
            description="Any other field of the report type, one a line: ports.entry=23390",
            section=_CAMPAIGN,
        ),
    }


def _workloads(spec: ReportSpec) -> list[str]:
    """Those of the report type's client: a campaign has one."""
    known = workloads.by_name()
    return [name for name, client in known.items() if client is known[spec.workloads[0]]]


def _engine(spec: ReportSpec) -> dict[str, Param]:
    """Which engine, where there is a choice."""
    if spec.engine != "auto" and list(spec.engines) == [spec.engine]:
        return {}
    return {
        "engine": Param(
            spec.engine,
            type="string",
            enum=["auto", *spec.engines],
            values_display={
                "auto": f"auto: the first of {', '.join(spec.engines)} that can be had here"
            },
            title="Engine",
            description="What is deployed. With auto, a version above says which engine is meant.",
        )
    }


def _client(spec: ReportSpec) -> dict[str, Param]:
    """Which program runs the workloads, where there is a choice."""
    programs = [program.name for program in workloads.workload_of(spec).PROGRAMS]
    if len(programs) == 1:
        return {}
    return {
        "client": Param(
            spec.client.program or ANY_CLIENT,
            type="string",
            enum=[ANY_CLIENT, *programs],
            values_display={
                ANY_CLIENT: f"auto: the first of {', '.join(programs)} on the client's host"
            },
            title="Client",
            description="The program that makes the load. Figures of different clients are never "
            "compared.",
            section=_METHOD,
        )
    }


def _sides(spec: ReportSpec) -> dict[str, Param]:
    """Whether both are the same, where there are two."""
    if spec.sides == "single":
        return {}
    return {
        "aa": Param(
            spec.sides == "same",
            type="boolean",
            title="A/A campaign",
            description="The baseline against itself: shows how large the noise is. The "
            "candidate's version is not used.",
            section=_METHOD,
        )
    }


def _slowdown(spec: ReportSpec) -> dict[str, Param]:
    """Where the target can slow a side down."""
    if not targets.by_name()[spec.target].slows_down:
        return {}
    return {
        "slowdown_pct": Param(
            spec.slowdown_pct,
            type="number",
            minimum=0,
            maximum=90,
            title="Slow the candidate down (%)",
            description="On purpose, to see whether Benchlab finds it; best in an A/A campaign. "
            "The server is stopped for this share of the time.",
            section=_METHOD,
        )
    }


def _measure_again(spec: ReportSpec) -> dict[str, Param]:
    """Where there are runs by the calendar, which skip what has been measured."""
    if spec.schedule is None:
        return {}
    return {
        MEASURE_AGAIN: Param(
            spec.schedule.measure_again,
            type="boolean",
            title="Measure again",
            description="Of a backfill: also a pair that has been measured with this plan. A run "
            "that somebody starts by hand always measures.",
            section=_METHOD,
        )
    }


def _published(spec: ReportSpec) -> dict[str, Param]:
    """The published plans of this report type; none where it has none."""
    titles = {
        path.stem: plan.published.document
        for path, plan in report_types.published_plans(home.find(), spec.report).items()
        if plan.published is not None
    }
    if not titles:
        return {}
    return {
        "published": Param(
            OWN_PLAN,
            type="string",
            enum=[OWN_PLAN, *titles],
            values_display={OWN_PLAN: "none: the report type's own plan", **titles},
            title="Published plan",
            description="Take a published document's plan as it was; fields that you change below "
            "are changed in it, those you leave keep the document's value.",
        )
    }


def _dataset(dataset: AnyDataset) -> dict[str, Param]:
    if isinstance(dataset, Warehouses):
        return {
            "warehouses": Param(
                dataset.warehouses,
                type="integer",
                minimum=1,
                maximum=100_000,
                title="Warehouses",
                section=_DATASET,
            )
        }
    return {
        "tables": Param(
            dataset.tables,
            type="integer",
            minimum=1,
            maximum=1024,
            title="Tables",
            section=_DATASET,
        ),
        "table_size": Param(
            dataset.table_size,
            type="integer",
            minimum=1,
            maximum=1_000_000_000,
            title="Rows a table",
            section=_DATASET,
        ),
    }


def _fleet(spec: ReportSpec) -> dict[str, Param]:
    """What only a fleet has a choice of."""
    kind = targets.by_name()[spec.target].topology
    if kind is None:
        return {}
    return {
        "topology": Param(
            spec.topology,
            type="string",
            enum=report_types.topology_names(home.find(), kind),
            title="Topology",
            description="The hosts: a file in configs/topologies.",
            section=_FLEET,
        ),
        "placement": Param(
            spec.placement,
            type="string",
            enum=["interleaved", "sequential"],
            values_display={
                "interleaved": "interleaved: the sides in turn, on the same hosts",
                "sequential": "sequential: all of the baseline, then all of the candidate",
            },
            title="Placement",
            section=_FLEET,
        ),
        "snapshots": Param(
            spec.snapshots,
            type=["null", "string"],
            title="Dataset snapshots",
            description="s3://bucket/prefix. A dataset that is kept there is restored instead of "
            "loaded. Empty: always loaded.",
            section=_FLEET,
        ),
    }


def _version(spec: ReportSpec, side: Side) -> Param:
    sides = {name: getattr(entry, side) for name, entry in spec.engines.items()}
    own = ", ".join(f"{found.version} ({name})" for name, found in sides.items() if found)
    return Param(
        None,
        type=["null", "string"],
        title=f"{side.capitalize()} version",
        description=f"Empty: as in the report type, {own}. A version rule, such as newest 8.5, "
        "names the one of the run's day.",
    )
