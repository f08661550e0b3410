"""What a client's output says, in the form in which it is stored."""

from __future__ import annotations

import csv
import io

from benchlab.results.records import Sample
from benchlab.workloads.workload import Output


def samples_of(output: Output) -> tuple[Sample, ...]:
    """The samples of a trial whose client printed this."""
    return tuple(Sample(metric, value) for metric, value in output.samples().items())


def client_reasons(output: Output, exit_code: int | None) -> tuple[str, ...]:
    """What the client did wrong, as sentences; ``exit_code`` is None where it is not known."""
    said = tuple(f"client: {reason}" for reason in output.reasons)
    if exit_code == 0:
        return said
    return (*said, f"client: exit code {'unknown' if exit_code is None else exit_code}")


def series_csv(output: Output) -> str:
    """The series of a client's output as it is kept; an absent value is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(output.SERIES)
    for interval in output.series:
        values = (getattr(interval, column) for column in output.SERIES)
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()
