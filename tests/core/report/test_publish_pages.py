"""The index and the campaigns' pages in a bucket."""

from __future__ import annotations

import json
import re
import threading
from datetime import timedelta

import pytest

from benchlab.errors import PublishError
from benchlab.report.publish.s3 import pages
from tests.builders import plans
from tests.builders.s3 import (
    BUCKET,
    FILES,
    S3,
    Links,
    dead_links,
    publication,
    publisher,
)

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>&{{ 7 * 7 }}'


def test_the_index_has_all_campaigns_the_latest_first(s3: S3) -> None:
    """The pages of every report type, in its languages."""
    days = {"old": 0, "new": 9, "middle": 5}
    for name, day in days.items():
        publisher(s3, prefix="").publish(
            publication(
                campaign=name,
                report=f"{name}_report",
                started_at=plans.START + timedelta(days=day),
                pages={"zh": "report.html", "en": "en/report.html"},
                files={**FILES, "en/report.html": b"<h1>In English</h1>"},
            )
        )
    edition = publication(files={**FILES, "en/report.html": b"<h1>In English</h1>"}).edition
    assert Links(s3.all()["index.html"]).links == [
        link
        for name in ("new", "middle", "old")
        for link in (
            f"{name}_report/{name}/index.html",
            f"{name}_report/{name}/{edition}/report.html",
            f"{name}_report/{name}/{edition}/en/report.html",
        )
    ]
    assert dead_links(s3) == []


def test_two_prefixes_of_a_bucket_know_nothing_of_each_other(s3: S3) -> None:
    """Nor does one whose name begins with the other's."""
    publisher(s3, prefix="a").publish(publication(campaign="in-a"))
    publisher(s3, prefix="ab").publish(publication(campaign="in-ab"))
    publisher(s3, prefix="a").publish(publication(campaign="also-in-a"))
    shown = {prefix: Links(s3.read(f"{prefix}/index.html")).text for prefix in ("a", "ab")}
    assert "in-ab" not in shown["a"]
    assert "also-in-a" not in shown["ab"]
    assert dead_links(s3) == []


def test_a_hostile_name_is_only_text(s3: S3) -> None:
    """Titles, versions, verdicts: nothing of them becomes a tag, an attribute or a template."""
    for campaign in ("c1", "c2"):
        publisher(s3, prefix="").publish(
            publication(
                campaign=campaign,
                title=HOSTILE,
                versions=(HOSTILE, HOSTILE),
                verdicts={HOSTILE: HOSTILE},
                state=HOSTILE,
            )
        )
    for page in ("index.html", "sysbench_test/c1/index.html"):
        found = Links(s3.read(page))
        assert not {"script", "img", "iframe", "link", "object"} & set(found.tags)
        assert not [name for name in found.attributes if name.startswith("on")]
        assert HOSTILE in found.text
        assert all(re.fullmatch(r"[A-Za-z0-9_./-]+\.html", link) for link in found.links)
        assert b"default-src 'none'" in s3.read(page), "a browser would run no script anyway"
    assert dead_links(s3) == []


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"{}",
        b"\xff",
        b"[1]",
        json.dumps(
            {**json.loads(pages.Entry.from_publication(publication()).to_json()), "report": "../x"}
        ),
        json.dumps(
            {
                **json.loads(pages.Entry.from_publication(publication()).to_json()),
                "pages": {"en": "javascript:alert(1)//.html"},
            }
        ),
        json.dumps(
            {
                **json.loads(pages.Entry.from_publication(publication()).to_json()),
                "edition": "../../../x",
            }
        ),
    ],
)
def test_an_entry_that_cannot_be_read_is_named_and_stops_nobody(s3: S3, entry: bytes | str) -> None:
    """Others are shown; what it says leads nowhere."""
    key = "_entries/sysbench_test/<b>.json"
    s3.client.put_object(Bucket=BUCKET, Key=key, Body=entry)
    publisher(s3, prefix="").publish(publication())
    found = Links(s3.read("index.html"))
    assert key in found.text
    assert len(found.links) == 2
    assert "b" not in found.tags[found.tags.index("h2") :]
    assert dead_links(s3) == []


def test_an_entry_of_a_later_release_is_read(s3: S3) -> None:
    """Fields that are not known yet are left out."""
    later = {**json.loads(pages.Entry.from_publication(publication()).to_json()), "estimate": 1}
    shown = pages.index({"k": json.dumps(later).encode()})
    assert shown == pages.index({"k": pages.Entry.from_publication(publication()).to_json()})


def test_the_words_of_an_entry_are_those_of_the_report() -> None:
    """A change in an A/A campaign is a false alarm, a failed campaign says so, times are UTC."""
    zone = plans.START.astimezone().tzinfo
    entry = pages.Entry.from_publication(
        publication(aa=True, state="failed", started_at=plans.START.astimezone(zone))
    )
    said = " ".join(Links(pages.index({"k": entry.to_json()})).text.split())
    assert "failed A/A campaign oltp_point_select: improvement (false alarm)" in said
    assert "oltp_update_index: inconclusive" in said
    assert "2024-01-02 03:04 UTC" in said


def test_publishers_at_the_same_time_lose_no_line(s3: S3) -> None:
    """Each writes its entry; the last index has all of them."""
    names = [f"c{number}" for number in range(6)]
    begin, faults = threading.Barrier(len(names)), []

    def work(name: str) -> None:
        begin.wait()
        try:
            publisher(s3, prefix="").publish(publication(campaign=name, files={"report.html": b""}))
        except PublishError as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    shown = Links(s3.read("index.html")).text
    assert [name for name in names if name not in shown] == []
    assert dead_links(s3) == []


def test_an_entry_that_comes_while_the_index_is_written_is_in_it(s3: S3) -> None:
    """The other publisher may have been before: then nobody else would add its line."""
    other = pages.Entry.from_publication(publication(campaign="other"))

    def come(operation: str, key: str) -> None:
        if (operation, key) == ("PutObject", "index.html") and s3.refuse is come:
            s3.refuse = lambda operation, key: None
            s3.client.put_object(
                Bucket=BUCKET, Key="_entries/sysbench_test/other.json", Body=other.to_json()
            )

    s3.refuse = come
    publisher(s3, prefix="").publish(publication())
    assert "other" in Links(s3.read("index.html")).text


def test_an_entry_that_goes_while_the_index_is_made_is_not_in_it(s3: S3) -> None:
    """Somebody has deleted it; that is no fault."""
    publisher(s3, prefix="").publish(publication(campaign="gone"))
    entry = "_entries/sysbench_test/gone.json"

    def go(operation: str, key: str) -> None:
        if (operation, key) == ("GetObject", entry) and s3.refuse is go:
            s3.refuse = lambda operation, key: None
            s3.client.delete_object(Bucket=BUCKET, Key=entry)

    s3.refuse = go
    publisher(s3, prefix="").publish(publication())
    assert "gone" not in Links(s3.read("index.html")).text
