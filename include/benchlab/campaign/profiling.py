"""Profiles of the servers while a diagnosis trial's client runs, and which functions became dearer.

They are taken from a fifth of the run to its end, as counters are read, by a job on the client's
host. Profiles of one component's servers are added up. Those of both sides are compared by what a
query takes: the shares of functions times the CPU, or the bytes, that its counts say.

Example:
    ``OBSERVERS = (Cpu(), Allocations())``
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from pydantic import TypeAdapter

from benchlab.analysis.cause.profiles import Compared, compare
from benchlab.campaign.counting import POLL_S, UNSTEADY
from benchlab.campaign.deployment import TrialSetup
from benchlab.engines.database import Profiled
from benchlab.errors import BenchlabError, EngineError, SpecError
from benchlab.hosts import counters
from benchlab.hosts.counters import Source
from benchlab.language import Said, message
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model import counts
from benchlab.report.model import profiles as kept
from benchlab.results import diagnosis, pprof
from benchlab.results.diagnosis import Kind, Taken
from benchlab.results.pprof import Profile

# Beyond the end of the run, until TiKV has named the functions, or perf all of its samples.
LATE_S = 60
LACKING = "lacking.json"
# What a query takes of a component, by the kind of its profiles.
_COSTS: Mapping[tuple[Kind, str], str] = {
    ("cpu", "tidb"): "tidb_cpu",
    ("cpu", "tikv"): "tikv_cpu",
    ("cpu", "pd"): "pd_cpu",
    ("cpu", "mariadb"): "server_cpu",
    ("allocations", "tidb"): "tidb_allocated_bytes",
}
_TYPES: Mapping[Kind, str] = {"allocations": "alloc_space"}
# Of what a server complains of.
_LONGEST = 200
_GZIP = b"\x1f\x8b"
_LACKING: TypeAdapter[dict[str, Said]] = TypeAdapter(dict[str, Said])
_Trial = Mapping[Side, Taken]
"""A round: both sides' trials."""


class Profiling:
    """Takes profiles of one kind."""

    kind: ClassVar[Kind]
    rounds: ClassVar[int]

    def lacking(self, setup: TrialSetup, side: Side) -> Said | None:
        """Why no server of a side is profiled."""
        found = self._profiled(setup, side, 1)
        if found.sources:
            return None
        return next(iter(found.lacking.values()), message("profiles-nothing"))

    def setup(self, setup: TrialSetup) -> TrialSetup:
        """As all trials."""
        return setup

    def watch(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
        """Start the job; its moment counts from here, as the client starts at once."""
        seconds = _seconds(trial)
        sources = self._profiled(setup, trial.side, seconds).sources
        begins = (float(trial.seconds - seconds),)
        limit_s = seconds + LATE_S
        counters.start(setup.deployment.executor, _job(job), sources, begins, limit_s)

    def collect(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> Mapping[str, bytes]:
        """A file for each server: ``tikv-kv-1.pb.gz``; and which components have none, and why.

        Raises:
            EngineError: there is no profile at all.
        """
        executor, deadline = setup.deployment.executor, time.monotonic() + 2 * LATE_S
        while executor.job_status(_job(job)).state == "running" and time.monotonic() < deadline:
            time.sleep(POLL_S)
        found = self._profiled(setup, trial.side, _seconds(trial))
        read = counters.collect(executor, _job(job), found.sources)
        files, lacking = dict[str, bytes](), dict(found.lacking)
        for source in found.sources:
            answer = read[0].answers[source.server] if read else ""
            try:
                name, content = _file(source, answer)
                files[name] = content
            except SpecError as error:
                refused = message("profiles-refused", server=source.server, why=str(error))
                lacking[source.role] = refused
        if not files:
            why = next(iter(lacking.values()), message("profiles-nothing"))
            raise EngineError(why)
        return {**files, LACKING: _LACKING.dump_json(lacking)}

    def put_back(self, setup: TrialSetup, trial: PlannedTrial) -> None:
        """Nothing is left switched on; the job ends by itself."""

    def conclude(
        self, workload: str, taken: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Mapping[str, bytes]:
        """``profiles-cpu.json``: what became dearer, by component."""
        return {kept.file_name(self.kind): kept.to_json(dict(self._compared(taken, read)))}

    def _profiled(self, setup: TrialSetup, side: Side, seconds: int) -> Profiled:
        """Without components of which a server ended while it was profiled."""
        found = setup.deployment.engine(side).profile_sources(self.kind, seconds)
        known = diagnosis.found(setup.campaign.environment)
        ended = {
            role: one.why_not
            for one in (known.trials if known else ())
            if one.kind in ("cpu", "allocations")
            for role in one.ended
            if one.why_not is not None
        }
        left = [source for source in found.sources if source.role not in ended]
        return Profiled(left, {**found.lacking, **ended})

    def _compared(
        self, taken: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Iterator[tuple[str, Compared | Said]]:
        """Each component with its profiles compared, or why they cannot be."""
        lacking: dict[str, Said] = {}
        for one in taken:
            lacking |= _LACKING.validate_json(read(one.objects[LACKING]))
        files = {name for one in taken for name in one.objects} - {diagnosis.COUNTS, LACKING}
        for role in sorted({name.partition("-")[0] for name in files} | lacking.keys()):
            of_role = {name for name in files if name.startswith(f"{role}-")}
            rounds = [*_rounds(taken, of_role)] if of_role else []
            if not rounds:
                yield role, lacking.get(role, message("profiles-unpaired"))
                continue
            trials = [one[side] for side in SIDES for one in rounds]
            try:
                yield role, self._of_role(role, of_role, trials, read)
            except BenchlabError as error:
                yield role, str(error)

    def _of_role(
        self, role: str, files: Iterable[str], trials: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Compared:
        def profile(taken: Taken) -> Profile:
            names = (taken.objects[name] for name in sorted(files))
            return pprof.together([pprof.parse(name, read(name)) for name in names])

        profiles, half = [*map(profile, trials)], len(trials) // 2
        costs = [_cost(_COSTS.get((self.kind, role)), one, read) for one in trials]
        return compare(
            profiles[:half],
            profiles[half:],
            sample_type=_TYPES.get(self.kind, ""),
            per_transaction=[one for one in costs if one] if all(costs) else (),
            of="CPU" if self.kind == "cpu" else "bytes",
            paired=True,
        )


class Cpu(Profiling):
    """CPU profiles."""

    kind: ClassVar[Kind] = "cpu"
    rounds = 4


class Allocations(Profiling):
    """What Go's servers allocate."""

    kind: ClassVar[Kind] = "allocations"
    rounds = 3


def _seconds(trial: PlannedTrial) -> int:
    """How long servers are profiled: whole seconds, as they take no others."""
    return max(int((1 - UNSTEADY) * trial.seconds), 1)


def _job(client_job: str) -> str:
    return f"profiles-{client_job}"


def _file(source: Source, answer: str) -> tuple[str, bytes]:
    """The name and the content of a server's profile, gzipped.

    Raises:
        SpecError: it is none; quotes what was answered instead.
    """
    name = f"{source.role}-{source.server.removeprefix(f'{source.role} ')}"
    try:
        content = base64.b64decode(answer)
    except binascii.Error as error:
        raise SpecError(f"{name}: was cut") from error
    try:
        profile = pprof.parse(name, content)
    except SpecError as error:
        raise SpecError(_complaint(content) or str(error)) from error
    form = "folded" if profile.types == (pprof.FOLDED,) else "pb"
    zipped = content if content.startswith(_GZIP) else gzip.compress(content, mtime=0)
    return f"{name}.{form}.gz", zipped


def _complaint(content: bytes) -> str:
    """The first line of a text that was answered instead of a profile; empty where it is none."""
    with contextlib.suppress(OSError, EOFError, zlib.error, UnicodeDecodeError):
        plain = gzip.decompress(content) if content.startswith(_GZIP) else content
        line = plain.decode().strip().partition("\n")[0]
        return line[:_LONGEST] if line.isprintable() else ""
    return ""


def _rounds(taken: Sequence[Taken], files: set[str]) -> Iterator[_Trial]:
    """The rounds in which both sides have a profile of each of these servers."""
    for number in sorted({one.round for one in taken}):
        both = {one.side: one for one in taken if one.round == number}
        if len(both) == len(SIDES) and all(files <= one.objects.keys() for one in both.values()):
            yield both


def _cost(count: str | None, taken: Taken, read: Callable[[str], bytes]) -> float | None:
    """What a query took in a trial; None where that is not known."""
    if count is None or diagnosis.COUNTS not in taken.objects:
        return None
    rows = counts.read(read(taken.objects[diagnosis.COUNTS]))
    return next((row.per_query for row in rows if row.count == count), None)
