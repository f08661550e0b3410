"""The series of trials: what is read of them, and the small pictures of them in a report."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.errors import StoreError
from benchlab.language import codes
from benchlab.report import bundle
from benchlab.report.model import series
from benchlab.results.records import TrialResult
from tests.builders import campaigns

TPS = "t,threads,tps,qps\n" + "".join(f"{n}.0,4,{1000 + n},0\n" for n in range(1, 301))
HOSTS = "host,t,seconds,cpu_busy,disk_busy\n" + "".join(
    f"tikv-1,{n}.0,1.0,0.25,{0.5 if n == 1 else ''}\nclient,{n}.0,1.0,0.75,0.0\n"
    for n in range(1, 301)
)


def trials(seconds: int = 300) -> list[TrialResult]:
    """Those of a campaign with one workload, each with the names of what is kept of it."""
    made = campaigns.campaign(rounds=2, workloads=["oltp_insert"], threads=[4], seconds=seconds)
    return [
        dataclasses.replace(one, series=f"{one.trial.id}.csv", hosts=f"{one.trial.id}.hosts.csv")
        for one in campaigns.results_of(made.plan)
    ]


def kept(name: str) -> bytes:
    """The object of this name."""
    return (HOSTS if name.endswith(".hosts.csv") else TPS).encode()


def test_a_long_trial_is_thinned_to_means() -> None:
    """As many points as are drawn; of the hosts the busiest one, and a gap where none is known."""
    (first, second) = series.read(trials(), "tps", kept)["oltp_insert"]
    assert [(pair.threads, pair.round, pair.seconds) for pair in (first, second)] == [
        *((4, 1, 300), (4, 2, 300))
    ]
    found = first.sides["candidate"]
    assert len(found.throughput) == series.POINTS
    # Each point has 7.5 s on average: the first the seconds 1 to 7.
    assert found.throughput[0] == pytest.approx(1004)
    assert found.throughput[-1] == pytest.approx(1296.5)
    assert set(found.cpu) == {0.75}
    assert found.disk[0] == 0.5
    assert found.disk[1] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t,qps\n1,2\n",
        "t,tps\n1,many\n",
        "t,tps\n1\n",
        '"',
        "t,tps\n\n1,1\n",
        "t,tps\nnan,1\n",
        "t,tps\ninf,1\n",
    ],
)
def test_what_cannot_be_read_is_not_shown(text: str) -> None:
    """A damaged object is no reason to have no report."""
    assert series.read(trials(), "tps", lambda _: text.encode()) == {}

    def lost(_: str) -> bytes:
        raise StoreError("it is gone")

    assert series.read(trials(), "tps", lost) == {}


def test_a_report_has_the_series_of_its_trials_folded() -> None:
    """A picture of some KB for each pair, in the page's own colours, in every language."""
    made = campaigns.campaign(rounds=2, workloads=["oltp_insert"], threads=[4], seconds=300)
    results = trials()
    outcome = compare(made.plan, results, 2.0)
    files = bundle.make(made, outcome, results, languages=codes(), read_object=kept)
    without = bundle.make(made, outcome, results)
    assert b'class="seconds"' not in without["report.html"]
    for page in ("report.html", "zh/report.html"):
        text = files[page].decode()
        (folded,) = re.findall(r'<details class="seconds">.*?</details>', text, re.DOTALL)
        pictures = re.findall(r"<figure>.*?</figure>", folded, re.DOTALL)
        assert len(pictures) == 2
        for picture in pictures:
            assert len(picture.encode()) < 4096
            drawn = ET.fromstring(picture)  # noqa: S314 - our own
            classes = [path.attrib["class"] for path in drawn.iter("path")]
            lines = [css.removeprefix("line thin ") for css in classes if css != "grid"]
            assert lines == ["baseline", "candidate"] * 3
            assert "#" not in picture
