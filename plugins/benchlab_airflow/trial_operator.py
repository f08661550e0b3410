"""One trial as one task: restore, start, ready, warm up, run, collect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.sdk import BaseOperator, Context


class TrialOperator(BaseOperator):
    """Executes one trial, the campaign's next.

    A repeated try waits for a process of an earlier one that is still at work, adopts the client
    that it left, or finds the trial measured and goes on to the next; see
    ``TrialSequence.measure_next``.

    Args:
        planned: title of the trial that the plan has in this place.
        attempt: 1 for the first measurement of its pair of blocks, 2 for the next, ...
    """

    template_fields: Sequence[str] = ("planned", "attempt")
    ui_color: ClassVar[str] = "#e8f0fe"

    def __init__(self, *, planned: str, attempt: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned, self.attempt = planned, attempt

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Measure; see ``stages.measure`` for what is returned."""
        from benchlab_airflow import stages

        measured = stages.measure(self.attempt)
        # What map_index_template shows in the UI.
        context["trial_title"] = (
            measured["title"] if measured else f"{self.planned} (had been measured)"
        )  # type: ignore[typeddict-unknown-key]
        return measured
