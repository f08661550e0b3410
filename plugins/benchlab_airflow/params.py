"""A report type becomes the fields of the trigger form, and a filled-in form its overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from benchlab import catalog
from benchlab.spec import SIDES, ReportSpec

_NESTED = {"tables": "dataset.tables", "table_size": "dataset.table_size"}


def form(spec: ReportSpec) -> dict[str, Param]:
    """The trigger form of a report type; its defaults are the report type's own values."""
    versions = "; ".join(
        f"{name}: {entry.baseline.version} vs. {entry.candidate.version}"
        for name, entry in spec.engines.items()
    )
    return {
        "baseline": Param(
            None,
            type=["null", "string"],
            title="Baseline version",
            description=f"Empty: as in the report type ({versions}).",
        ),
        "candidate": Param(
            None,
            type=["null", "string"],
            title="Candidate version",
            description="Empty: as in the report type. TiDB's are written v6.5.0.",
        ),
        "engine": Param(
            spec.engine,
            type="string",
            enum=["auto", *spec.engines],
            title="Engine",
            description="auto: the first that can be had on the machine.",
        ),
        "sides": Param(
            spec.sides,
            type="string",
            enum=["different", "same"],
            title="Sides",
            description="same: an A/A campaign, the baseline against itself; measures noise.",
        ),
        "workloads": Param(
            list(spec.workloads),
            type="array",
            items={"type": "string", "enum": list(catalog.workloads())},
            examples=list(catalog.workloads()),
            title="Workloads",
            minItems=1,
            uniqueItems=True,
        ),
        "threads": Param(
            list(spec.threads),
            type="array",
            items={"type": "integer", "minimum": 1, "maximum": 10_000},
            title="Client threads",
            description="A list of whole numbers, one a line: each is a cell of every workload.",
            minItems=1,
            uniqueItems=True,
        ),
        "rounds": Param(spec.rounds, type="integer", minimum=1, maximum=1000, title="Rounds"),
        "seconds": Param(
            spec.seconds,
            type="integer",
            minimum=1,
            maximum=86_400,
            title="Seconds a trial",
            description="Measured; the warm-up comes before.",
        ),
        "warmup_seconds": Param(
            spec.warmup_seconds, type="integer", minimum=0, maximum=3600, title="Warm-up seconds"
        ),
        "tables": Param(
            spec.dataset.tables, type="integer", minimum=1, maximum=1024, title="Tables"
        ),
        "table_size": Param(
            spec.dataset.table_size,
            type="integer",
            minimum=1,
            maximum=1_000_000_000,
            title="Rows a table",
        ),
        "restore": Param(
            spec.restore,
            type="string",
            enum=["every_trial", "after_writes", "per_workload", "never"],
            title="Restore policy",
        ),
        "threshold_pct": Param(
            spec.threshold_pct,
            type="number",
            exclusiveMinimum=0,
            maximum=50,
            title="Threshold (%)",
            description="The smallest change that is called a regression or an improvement.",
        ),
        "campaign": Param(
            None,
            type=["null", "string"],
            pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,149}$",
            title="Campaign id",
            description="Empty: made from the run's id. One that is there is gone on with.",
        ),
        "overrides": Param(
            {},
            type="object",
            title="Other fields",
            description='Any other field of the report type, such as {"ports.entry": 23390}.',
        ),
    }


def overrides(spec: ReportSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """What a filled-in form changes: fields left at the report type's value change nothing."""
    found: dict[str, Any] = {}
    for key, param in form(spec).items():
        value = params.get(key, param.value)
        if key in ("campaign", "overrides") or value == param.value:
            continue
        if key in SIDES:
            if value and value.strip():
                found[key] = value.strip()
        else:
            found[_NESTED.get(key, key)] = value
    return found | dict(params.get("overrides") or {})
