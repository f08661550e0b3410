"""Publishing: into files first, to S3 beside it; repeated, interrupted, by several at once.

S3 is moto's, asked through boto3 as it is.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from moto import mock_aws
from moto.backends import get_backend
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import DEFAULT_ACCOUNT_ID
from upath import UPath

from benchlab import catalog, publishing, spec, testing
from benchlab.access import Access
from benchlab.errors import NotMeasuredError, PublishError, SpecError, StoreError
from benchlab.home import Home
from benchlab.publishers import BasePublisher, Publication
from benchlab.publishers.s3 import pages
from benchlab.publishers.s3.bucket import Bucket
from benchlab.report import bundle
from benchlab.spec import Destination, ReportSpec
from benchlab.store import Store
from benchlab.stored_campaign import StoredCampaign

PROJECT = Path(__file__).parents[2]
REGION = "eu-west-1"
BUCKET = "my-reports"
ON_S3 = {"to": "s3", "bucket": BUCKET, "prefix": "tidb/weekly", "region": REGION}
PLACE = f"s3://{BUCKET}/tidb/weekly"
FILES = {"report.md": b"# The report", "report.html": b"<h1>The report</h1>"}
OF_EVERY_KIND = {
    **FILES,
    "report.json": b"{}",
    "trials.csv": b"a,b\n",
    "charts/overview.svg": b"<svg/>",
    "charts/overview.png": b"\x89PNG",
    "evidence.zip": b"PK",
    "strange.bin": b"\0",
}


class S3:
    """moto's S3, and what was asked of it.

    Attributes:
        client: boto3's, that tries again twice.
        asked: operation and key of every request, in order.
        refuse: answers a request itself, with a status and a body; None: S3 does.
    """

    def __init__(self) -> None:
        keys = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "s3cr3t"}
        retries = Config(retries={"mode": "standard", "max_attempts": 3})
        self.client: Any = boto3.client("s3", region_name=REGION, config=retries, **keys)
        self.asked: list[tuple[str, str]] = []
        self.refuse: Callable[[str, str], tuple[int, str] | None] = lambda operation, key: None
        self.client.meta.events.register_first("before-send.s3", self._seen)

    def _seen(self, request: Any, event_name: str, **_: Any) -> AWSResponse | None:
        operation = event_name.rpartition(".")[2]
        key = re.sub(r"\?.*", "", request.url).partition(".com/")[2]
        self.asked.append((operation, key))
        if (refusal := self.refuse(operation, key)) is None:
            return None
        # botocore asks moto as well and takes the first answer: let that be nothing that writes.
        request.method = "HEAD"
        status, code = refusal
        body = f"<Error><Code>{code}</Code><Message>said so</Message></Error>".encode()

        class Raw:
            def stream(self) -> Iterator[bytes]:
                yield body

        return AWSResponse(request.url, status, {"Content-Type": "application/xml"}, Raw())

    @property
    def access(self) -> Access:
        """To this S3; nothing else is asked for, and in no other region."""

        def client(service: str, region: str) -> Any:
            assert (service, region) == ("s3", REGION)
            return self.client

        return Access(aws=client)

    def create(self, bucket: str) -> None:
        """One more bucket."""
        where = {"LocationConstraint": REGION}
        self.client.create_bucket(Bucket=bucket, CreateBucketConfiguration=where)

    @property
    def puts(self) -> list[str]:
        """The keys that were put since it was last asked, in order."""
        keys = [key for operation, key in self.asked if operation == "PutObject"]
        self.asked.clear()
        return keys

    def all(self) -> dict[str, bytes]:
        """Every object."""
        listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {each["Key"]: self.read(each["Key"]) for each in listed}

    def read(self, key: str) -> bytes:
        """One object."""
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content


@pytest.fixture(scope="module")
def moto() -> Iterator[S3]:
    """Started once, which takes a second; it answers one request at a time, as it has to."""
    answer, one = BotocoreStubber.__call__, threading.Lock()

    def answer_one(self: BotocoreStubber, *args: Any, **named: Any) -> Any:
        with one:
            return answer(self, *args, **named)

    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setattr(BotocoreStubber, "__call__", answer_one)
        yield S3()


@pytest.fixture
def s3(moto: S3) -> S3:
    """With one empty bucket, asked for nothing yet."""
    moto.refuse = lambda operation, key: None
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].reset()
    moto.create(BUCKET)
    moto.asked.clear()
    return moto


def publication(**fields: Any) -> Publication:
    """A small report."""
    made = Publication(
        campaign="c1",
        report="sysbench_test",
        title="Two releases compared",
        versions=("v6.1.0", "v6.5.0"),
        started_at=testing.START,
        state="complete",
        aa=False,
        verdicts={"oltp_point_select": "improvement", "oltp_update_index": "inconclusive"},
        pages={"en": "report.html"},
        files=FILES,
    )
    return dataclasses.replace(made, **fields)


def publisher(s3: S3, **options: str) -> BasePublisher:
    """Of the bucket, with other options or without one."""
    fields = {key: value for key, value in {**ON_S3, **options}.items() if value}
    return catalog.publisher(Destination(**fields), Home(PROJECT, Path("/nowhere")), s3.access)


def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore tries again at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


class Links(HTMLParser):
    """What a page links to, loads, runs, and says."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See the base class."""
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        """See the base class."""
        if self.tags[-1:] != ["style"]:
            self.text += data


def dead_links(s3: S3) -> list[str]:
    """Links of the pages of a bucket that lead nowhere in it."""
    objects = s3.all()
    return [
        f"{key} -> {link}"
        for key, content in objects.items()
        if key.endswith("index.html")
        for link in Links(content).links
        if urljoin(key, link) not in objects
    ]


# ---------------------------------------------------------------- a report on S3


def test_a_report_comes_with_all_that_leads_to_it(s3: S3) -> None:
    """Under a key that its content names, with an index, and nothing links to nowhere."""
    report = publication(files=OF_EVERY_KIND)
    address = publisher(s3).publish(report)
    folder = "tidb/weekly/sysbench_test/c1"
    assert address == f"s3://{BUCKET}/{folder}/{report.edition}/report.html"
    objects = s3.all()
    for name, content in OF_EVERY_KIND.items():
        assert objects.pop(f"{folder}/{report.edition}/{name}") == content
    assert set(objects) == {
        "tidb/weekly/index.html",
        f"{folder}/index.html",
        "tidb/weekly/_entries/sysbench_test/c1.json",
    }
    assert dead_links(s3) == []
    for page in ("tidb/weekly/index.html", f"{folder}/index.html"):
        said = " ".join(Links(objects[page]).text.split())
        assert "Two releases compared" in said
        assert "v6.1.0 vs. v6.5.0" in said
        assert "oltp_point_select: improvement oltp_update_index: inconclusive" in said


def test_a_browser_is_told_what_each_file_is_and_how_long_it_keeps(s3: S3) -> None:
    """What is named by its content for ever, what leads there never unasked."""
    report = publication(files=OF_EVERY_KIND)
    publisher(s3, prefix="").publish(report)
    told = {}
    for key in s3.all():
        head = s3.client.head_object(Bucket=BUCKET, Key=key)
        told[key.removeprefix(f"sysbench_test/c1/{report.edition}/")] = (
            head["ContentType"],
            head["CacheControl"],
        )
    kept = "max-age=31536000, immutable"
    assert told == {
        "report.md": ("text/markdown; charset=utf-8", kept),
        "report.html": ("text/html; charset=utf-8", kept),
        "report.json": ("application/json", kept),
        "trials.csv": ("text/csv; charset=utf-8", kept),
        "charts/overview.svg": ("image/svg+xml", kept),
        "charts/overview.png": ("image/png", kept),
        "evidence.zip": ("application/zip", kept),
        "strange.bin": ("application/octet-stream", kept),
        "sysbench_test/c1/index.html": ("text/html; charset=utf-8", "no-cache"),
        "_entries/sysbench_test/c1.json": ("application/json", "no-cache"),
        "index.html": ("text/html; charset=utf-8", "no-cache"),
    }


def test_nothing_is_named_before_it_is_there(s3: S3) -> None:
    """The main page after its files, the entry after the page, the index last."""
    report = publication(files=OF_EVERY_KIND)
    publisher(s3, prefix="").publish(report)
    *files, page, of_campaign, entry, index = s3.puts
    folder = f"sysbench_test/c1/{report.edition}"
    assert set(files) == {f"{folder}/{name}" for name in OF_EVERY_KIND} - {page}
    assert page == f"{folder}/report.html"
    assert of_campaign == "sysbench_test/c1/index.html"
    assert entry == "_entries/sysbench_test/c1.json"
    assert index == "index.html"


def test_no_rights_are_given_to_anybody(s3: S3) -> None:
    """Who may read a bucket is its owner's choice: no ACL is written."""
    headers: list[str] = []

    def keep(request: Any, **_: Any) -> None:
        headers.extend(map(str.lower, request.headers))

    s3.client.meta.events.register("before-send.s3", keep)
    publisher(s3).publish(publication())
    s3.client.meta.events.unregister("before-send.s3", keep)
    assert headers
    assert not [name for name in headers if "acl" in name or "grant" in name]


def test_publishing_again_writes_nothing(s3: S3) -> None:
    """The same report is the same objects."""
    address = publisher(s3).publish(publication())
    before = s3.all()
    assert len(s3.puts) == len(before)
    assert publisher(s3).publish(publication()) == address
    assert s3.puts == []
    assert s3.all() == before


def test_another_content_is_another_edition_beside_the_first(s3: S3) -> None:
    """The latest is what index and campaign lead to; the earlier one stays as it was."""
    first = publication()
    second = publication(
        files={**FILES, "report.html": b"<h1>Another</h1>"},
        verdicts={"oltp_point_select": "equivalent"},
    )
    assert first.edition != second.edition
    publisher(s3, prefix="").publish(first)
    before = s3.all()
    publisher(s3, prefix="").publish(second)
    objects = s3.all()
    old = f"sysbench_test/c1/{first.edition}/"
    assert {k: v for k, v in before.items() if k.startswith(old)} == {
        k: v for k, v in objects.items() if k.startswith(old)
    }
    index, page = Links(objects["index.html"]), Links(objects["sysbench_test/c1/index.html"])
    assert f"sysbench_test/c1/{second.edition}/report.html" in index.links
    assert first.edition not in objects["index.html"].decode()
    assert "equivalent" in index.text
    assert "improvement" not in index.text
    assert page.links == [
        "../../index.html",
        f"{second.edition}/report.html",
        f"{first.edition}/report.html",
    ]
    assert dead_links(s3) == []
    publisher(s3, prefix="").publish(first)
    assert f"{first.edition}/report.html" in s3.all()["index.html"].decode(), "and back again"


def test_an_edition_is_named_by_all_of_its_names_and_bytes() -> None:
    """Whatever the order of the files; a byte that moves between name and content counts."""
    one = publication(files={"a": b"x", "b": b"y"})
    assert re.fullmatch("[0-9a-f]{12}", one.edition)
    assert publication(files={"b": b"y", "a": b"x"}).edition == one.edition
    others = [{"a": b"x"}, {"a": b"xb", "": b"y"}, {"ax": b"", "b": b"y"}, {"a": b"x", "b": b"z"}]
    assert len({one.edition, *(publication(files=other).edition for other in others)}) == 5


@pytest.mark.parametrize(
    "key",
    [
        "0123456789ab/zh/report.html",  # in part: its main page would be its last
        "0123456789ab/report.html/report.html",
        "0123456789ab/report_html",
        "javascript:alert(1)/report.html",
        "//example.com/report.html",
        "0123456789abc/report.html",
        "0123456789AB/report.html",
        "0123456789ab/report.html\n",
        "report.html",
    ],
)
def test_only_a_whole_edition_is_an_earlier_one(s3: S3, key: str) -> None:
    """Nothing else that lies there is linked, whoever put it there."""
    s3.client.put_object(Bucket=BUCKET, Key=f"sysbench_test/c1/{key}", Body=b"x")
    whole = "sysbench_test/c1/ba9876543210/report.html"
    s3.client.put_object(Bucket=BUCKET, Key=whole, Body=b"x")
    report = publication()
    publisher(s3, prefix="").publish(report)
    assert Links(s3.read("sysbench_test/c1/index.html")).links == [
        "../../index.html",
        f"{report.edition}/report.html",
        "ba9876543210/report.html",
    ]


# ---------------------------------------------------------------- the index


def test_the_index_has_all_campaigns_the_latest_first(s3: S3) -> None:
    """Of every report type, each with its languages."""
    days = {"old": 0, "new": 9, "middle": 5}
    for name, day in days.items():
        publisher(s3, prefix="").publish(
            publication(
                campaign=name,
                report=f"{name}_report",
                started_at=testing.START + timedelta(days=day),
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


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>&{{ 7 * 7 }}'


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
        json.dumps({**json.loads(pages.Entry.of(publication()).to_json()), "report": "../x"}),
        json.dumps(
            {
                **json.loads(pages.Entry.of(publication()).to_json()),
                "pages": {"en": "javascript:alert(1)//.html"},
            }
        ),
        json.dumps(
            {**json.loads(pages.Entry.of(publication()).to_json()), "edition": "../../../x"}
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
    later = {**json.loads(pages.Entry.of(publication()).to_json()), "estimate": 1}
    shown = pages.index({"k": json.dumps(later).encode()})
    assert shown == pages.index({"k": pages.Entry.of(publication()).to_json()})


def test_the_words_of_an_entry_are_those_of_the_report() -> None:
    """A change in an A/A campaign is a false alarm, a failed campaign says so, times are UTC."""
    zone = testing.START.astimezone().tzinfo
    entry = pages.Entry.of(
        publication(aa=True, state="failed", started_at=testing.START.astimezone(zone))
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
    other = pages.Entry.of(publication(campaign="other"))

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


# ---------------------------------------------------------------- what goes wrong


def test_a_bucket_that_is_missing_is_named(s3: S3) -> None:
    """With what S3 says, and what to do."""
    with pytest.raises(PublishError) as caught:
        publisher(s3, bucket="no-such-bucket").publish(publication())
    said = str(caught.value)
    assert said.startswith(f"listing s3://no-such-bucket/tidb/weekly/sysbench_test/c1/: {'NoSuch'}")
    assert "correct `bucket`: for this campaign with `benchlab publish CAMPAIGN --set" in said
    assert "for later ones in the report type's `publish`" in said


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (403, "AccessDenied", "s3:PutObject"),
        (403, "InvalidAccessKeyId", "Connection benchlab_aws"),
        (403, "SignatureDoesNotMatch", "Connection benchlab_aws"),
        (400, "AuthorizationHeaderMalformed", "correct `region`"),
        (400, "Unheard", "said so"),
    ],
)
def test_a_refusal_is_told_with_what_to_do(s3: S3, status: int, code: str, advice: str) -> None:
    """Key, S3's own words, advice; no credential."""
    s3.refuse = lambda operation, key: (status, code) if operation == "PutObject" else None
    with pytest.raises(PublishError) as caught:
        publisher(s3).publish(publication(files={"report.html": b""}))
    said = str(caught.value)
    assert said.startswith(f"writing s3://{BUCKET}/tidb/weekly/sysbench_test/c1/")
    assert f"{code}: said so" in said
    assert advice in said
    assert "s3cr3t" not in said
    assert "AKIA" not in said


def test_without_credentials_it_says_where_they_come_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In Airflow from its Connection, elsewhere as for any program of AWS."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    where = Destination(**ON_S3)
    with pytest.raises(PublishError, match=r"credentials.*Connection benchlab_aws"):
        catalog.publisher(where, Home(PROJECT, tmp_path), Access()).publish(publication())


def test_a_profile_that_is_missing_is_an_error_of_publishing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no client can be made, the others are published to nevertheless."""
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    where = Destination(**ON_S3)
    with pytest.raises(PublishError, match=f"{PLACE}: no client for S3: .*nosuch"):
        catalog.publisher(where, Home(PROJECT, tmp_path), Access()).publish(publication())


def test_an_endpoint_that_is_no_url_is_an_error_of_publishing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What botocore raises for it is none of its own errors."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "foo")
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    where = Destination(**ON_S3)
    with pytest.raises(
        PublishError, match=f"{PLACE}: no client for S3: Invalid endpoint: foo; see"
    ):
        catalog.publisher(where, Home(PROJECT, tmp_path), Access()).publish(publication())


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"campaign": "../c1"}, r"\.\./c1: no index can name this report: campaign: "),
        ({"report": "A"}, "c1: no index can name this report: report: "),
        ({"pages": {"en": "javascript:x"}}, r"c1: .*: pages\.en: "),
        ({"started_at": None, "report": ""}, "c1: .*: report: .*; started_at: "),
    ],
)
def test_what_no_index_can_name_is_refused_before_anything_is_there(
    s3: S3, fields: dict[str, Any], sentence: str
) -> None:
    """By the field; S3 is not even asked."""
    with pytest.raises(PublishError, match=sentence):
        publisher(s3).publish(publication(**fields))
    assert s3.asked == []


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "ServiceUnavailable"])
def test_what_passes_is_tried_again(s3: S3, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Throttling and errors of the server cost a try each, nothing else."""
    no_pause(monkeypatch)
    seen: set[str] = set()

    def once(operation: str, key: str) -> tuple[int, str] | None:
        if operation != "PutObject" or key in seen:
            return None
        seen.add(key)
        return 503, code

    s3.refuse = once
    publisher(s3).publish(publication(files={"report.html": b"", "report.md": b""}))
    assert len(seen) == 5
    assert len(s3.puts) == 10
    assert dead_links(s3) == []


@pytest.mark.parametrize("at", range(5))
def test_a_failure_in_the_middle_leaves_no_dead_link_and_can_be_repeated(s3: S3, at: int) -> None:
    """Wherever it was cut off: what is there stays, what is missing is brought."""
    publisher(s3, prefix="").publish(publication(campaign="before"))
    old = s3.read("index.html")
    report = publication(files={"report.html": b"page", "report.md": b"text"})
    s3.asked.clear()

    def cut(operation: str, key: str) -> tuple[int, str] | None:
        written = sum(operation == "PutObject" for operation, _ in s3.asked)
        return (403, "AccessDenied") if operation == "PutObject" and written > at else None

    s3.refuse = cut
    with pytest.raises(PublishError, match="AccessDenied"):
        publisher(s3, prefix="").publish(report)
    s3.refuse = lambda operation, key: None
    assert dead_links(s3) == []
    assert s3.read("index.html") == old
    s3.asked.clear()
    publisher(s3, prefix="").publish(report)
    assert len(s3.puts) == 5 - at
    assert dead_links(s3) == []
    assert "before" in Links(s3.read("index.html")).text
    assert "c1" in Links(s3.read("index.html")).text


def test_a_file_that_came_in_part_is_written_again(s3: S3) -> None:
    """S3 knows no parts of objects; but somebody may have cut one."""
    report = publication()
    publisher(s3, prefix="").publish(report)
    key = f"sysbench_test/c1/{report.edition}/report.md"
    s3.client.put_object(Bucket=BUCKET, Key=key, Body=b"#")
    s3.asked.clear()
    publisher(s3, prefix="").publish(report)
    assert s3.puts == [key]
    assert s3.read(key) == FILES["report.md"]


def test_more_objects_than_a_page_of_a_listing_has(s3: S3) -> None:
    """Every page is read."""

    def three(params: dict[str, Any], **_: Any) -> None:
        params["MaxKeys"] = 3

    for number in range(7):
        s3.client.put_object(Bucket=BUCKET, Key=f"many/{number}", Body=b"x")
    s3.asked.clear()
    s3.client.meta.events.register("before-parameter-build.s3.ListObjectsV2", three)
    assert len(Bucket(s3.client, BUCKET).listing("many/")) == 7
    s3.client.meta.events.unregister("before-parameter-build.s3.ListObjectsV2", three)
    assert len(s3.asked) == 3


# ---------------------------------------------------------------- in a report type


def test_a_report_goes_into_files_first_named_or_not() -> None:
    """A report must never be lost."""
    for written in ([], [ON_S3], [ON_S3, {"to": "files"}]):
        destinations = testing.spec(publish=written).destinations
        assert [each.to for each in destinations] == ["files", "s3"][: 1 + (ON_S3 in written)]


BAD = {
    "no publisher": ([{"bucket": "b"}], "publish.0.to: missing"),
    "an unknown publisher": ([{"to": "ftp"}], "publish.0.to: unknown: ftp; there are: files, s3"),
    "a misspelt key": ([{**ON_S3, "bukket": "b"}], "publish.0.bukket: unknown key"),
    "no bucket": ([{"to": "s3", "region": REGION}], "publish.0.bucket: missing"),
    "no region": ([{"to": "s3", "bucket": BUCKET}], "publish.0.region: missing"),
    "a URL": ([{**ON_S3, "bucket": "s3://b"}], "publish.0.bucket: "),
    "a prefix upwards": ([{**ON_S3, "prefix": "a/../b"}], "publish.0.prefix: "),
    "a prefix with a slash": ([{**ON_S3, "prefix": "/a/"}], "publish.0.prefix: "),
    "files elsewhere": ([{"to": "files", "path": "/srv"}], "publish.0.path: unknown key"),
    "one place twice": ([ON_S3, {**ON_S3, "region": "us-west-2"}], f"{PLACE} is named twice"),
    "files twice": ([{"to": "files"}] * 2, "publish.1: files is named twice"),
    "a list within": ([{**ON_S3, "prefix": ["a"]}], "publish.0.prefix"),
}


@pytest.mark.parametrize(("written", "sentence"), BAD.values(), ids=BAD)
def test_what_nobody_can_publish_to_is_refused(written: list[Any], sentence: str) -> None:
    """Before a campaign starts, by the field."""
    with pytest.raises(SpecError) as caught:
        catalog.override(testing.spec(), {"publish": written})
    assert f"override: {sentence}" in str(caught.value) or sentence in str(caught.value)


def test_destinations_and_languages_can_be_set_on_a_command_line() -> None:
    """As any other field."""
    text = f"publish=[{{to: s3, bucket: {BUCKET}, region: {REGION}}}]"
    found = catalog.override(testing.spec(), catalog.parse_assignments([text, "languages=zh,en"]))
    assert list(map(catalog.place, found.destinations)) == ["files", f"s3://{BUCKET}"]
    assert found.languages == ("zh", "en")


@pytest.mark.parametrize("codes", [["en", "en"], [], ["xx"], ["../en"], "en"])
def test_a_report_is_in_languages_that_are_there(codes: Any) -> None:
    """Once in each, and in one at least."""
    with pytest.raises(SpecError, match="languages"):
        catalog.override(testing.spec(), {"languages": codes})


def test_a_campaign_of_a_release_without_these_fields_is_read() -> None:
    """It is published into files, in English."""
    old = testing.spec().model_dump(mode="json", exclude={"publish", "languages"})
    found = ReportSpec.model_validate(old)
    assert (found.languages, [each.to for each in found.destinations]) == (("en",), ["files"])


def test_a_report_type_with_destinations_survives_being_written() -> None:
    """As the store keeps it."""
    found = testing.spec(publish=[ON_S3], languages=["en", "zh"])
    assert ReportSpec.model_validate(found.model_dump(mode="json")) == found
    assert spec.ReportSpec.model_validate_json(found.model_dump_json()) == found


# ---------------------------------------------------------------- a campaign


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as found:
        yield found


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds, drawing the charts, is left out."""
    monkeypatch.setattr(bundle, "make", lambda *_, **__: dict(FILES))


def measured(s3: S3, store: Store, tmp_path: Path, **fields: Any) -> StoredCampaign:
    """A campaign that has been measured, and is to be published."""
    record = testing.campaign(testing.spec(rounds=2, **fields))
    store.add_campaign(record)
    for result in testing.results_of(record.plan, lambda _: 100.0):
        store.add_trial(record.id, result)
    return StoredCampaign(Home(PROJECT, tmp_path), store, record, s3.access)


def test_a_campaign_is_published_everywhere_and_again(s3: S3, store: Store, tmp_path: Path) -> None:
    """Repeated, it is the same report; its verdict says nothing of it."""
    small = {"workloads": ["oltp_point_select"], "threads": [4]}
    work = measured(s3, store, tmp_path, publish=[ON_S3], languages=["en", "zh"], **small)
    paths = work.publish()
    assert paths[0] == tmp_path / "reports" / "c1" / "report.md"
    edition = json.loads(s3.read("tidb/weekly/_entries/sysbench_test/c1.json"))["edition"]
    assert work.published() == {
        "files": str(tmp_path / "reports" / "c1" / "report.html"),
        PLACE: f"{PLACE}/sysbench_test/c1/{edition}/report.html",
    }
    index = Links(s3.read("tidb/weekly/index.html")).links
    assert f"sysbench_test/c1/{edition}/zh/report.html" in index
    for path in paths:
        name = path.relative_to(tmp_path / "reports" / "c1")
        assert s3.read(f"tidb/weekly/sysbench_test/c1/{edition}/{name}") == path.read_bytes()
    assert dead_links(s3) == []
    ended = store.campaign("c1").ended_at
    s3.asked.clear()
    assert work.publish() == paths
    assert s3.puts == []
    assert store.campaign("c1").ended_at == ended
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_destination_that_fails_loses_nothing_and_stops_no_other(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The report is in files and in the other bucket; the error names the one, and the repeat."""
    missing = {**ON_S3, "bucket": "not-there-yet"}
    work = measured(s3, store, tmp_path, publish=[missing, ON_S3])
    for _ in range(2):
        with pytest.raises(PublishError) as caught:
            work.publish()
        said = str(caught.value)
        assert "not published to s3://not-there-yet/tidb/weekly: listing " in said
        assert f"not published to {PLACE}" not in said
        assert str(tmp_path / "reports" / "c1" / "report.html") in said
        assert "`benchlab publish c1`" in said
        assert (tmp_path / "reports" / "c1" / "report.md").exists()
        assert set(work.published()) == {"files", PLACE}
        assert dead_links(s3) == []
    notes = [(step.stage, step.phase) for step in work.progress.read()[0]]
    assert ("publish", "failed") in notes
    assert ("publish", "published") in notes
    with pytest.raises(PublishError, match=r"s3://not-there-yet/tidb/weekly: listing .*NoSuch"):
        work.verdict()
    assert "verdict" in [step.stage for step in work.progress.read()[0]], "it is told all the same"
    assert store.campaign("c1").state == "complete"
    where = {"LocationConstraint": REGION}
    s3.client.create_bucket(Bucket="not-there-yet", CreateBucketConfiguration=where)
    work.publish(only="s3")
    assert set(work.published()) == {"files", PLACE, "s3://not-there-yet/tidb/weekly"}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_one_publisher_alone_can_be_repeated(s3: S3, store: Store, tmp_path: Path) -> None:
    """Files come first then, too; the others keep what they have."""
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    work.publish(only="files")
    assert s3.asked == []
    with pytest.raises(PublishError, match=f"{PLACE}: it was not tried"):
        work.verdict()
    with pytest.raises(SpecError, match="'ftp', but to: files, s3"):
        work.publish(only="ftp")
    work.publish(only="s3")
    work.publish(only="files")
    assert set(work.published()) == {"files", PLACE}


@pytest.mark.usefixtures("rendered")
def test_a_campaign_can_be_published_elsewhere_than_planned(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """Its bucket may have been misspelt, or nobody may have thought of one."""
    work = measured(s3, store, tmp_path)
    work.publish(destinations=[Destination(**ON_S3)])
    assert set(work.published()) == {"files", PLACE}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_misspelt_bucket_is_corrected_for_one_campaign(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The verdict asks for the other destinations then; the report type's, once they are meant."""
    work = measured(s3, store, tmp_path, publish=[{**ON_S3, "bucket": "misspelt"}])
    misspelt = "not published to s3://misspelt/tidb/weekly: listing "
    with pytest.raises(PublishError, match=misspelt):
        work.publish()
    work.publish(destinations=[Destination(**ON_S3)])
    work.verdict()
    with pytest.raises(PublishError, match=misspelt):
        work.publish()
    with pytest.raises(PublishError, match=misspelt):
        work.verdict()
    work.publish(destinations=[])
    work.verdict()


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("only", [None, "s3"])
def test_the_command_that_an_error_names_repeats_what_failed(
    s3: S3, store: Store, tmp_path: Path, only: str | None
) -> None:
    """To the same destinations, whatever the report type says; the verdict names it, too."""
    work = measured(s3, store, tmp_path)
    missing = Destination(**{**ON_S3, "bucket": "not-there-yet", "prefix": "on"})
    with pytest.raises(PublishError) as caught:
        work.publish(only, destinations=[missing])
    with pytest.raises(PublishError) as judged:
        work.verdict()
    said = [str(each.value).rpartition("; `")[2] for each in (caught, judged)]
    for each, option in zip(said, (only and ["--to", only], None), strict=True):
        *words, assignment = shlex.split(each.removesuffix("` repeats what failed"))
        assert words == ["benchlab", "publish", "c1", *(option or []), "--set"]
        values = catalog.parse_assignments([assignment])
        assert catalog.override(work.spec, values).publish == (missing,)
    s3.create("not-there-yet")
    work.publish(only, destinations=[missing])
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_fault_where_the_report_is_not_to_be_any_more_is_forgotten(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """One where it is to be stays, though only another publisher is repeated."""
    work = measured(s3, store, tmp_path)
    record = publishing.Record(work.directory / "published")
    missing = Destination(**{**ON_S3, "bucket": "not-there"})
    with pytest.raises(PublishError):
        work.publish(destinations=[missing])
    work.publish("files", destinations=[missing])
    assert set(record.faults()) == {"s3://not-there/tidb/weekly"}
    work.publish()
    assert record.faults() == {}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_place_that_has_the_report_is_not_said_to_be_without(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """S3 is out of reach after it was published there: it could not be renewed."""
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    work.publish()
    s3.refuse = lambda operation, key: (403, "AccessDenied")
    with pytest.raises(PublishError) as caught:
        work.publish()
    first, last = str(caught.value).splitlines()
    assert first.startswith(
        f"the report could not be renewed at {PLACE}, where the same edition was: listing "
    )
    page = tmp_path / "reports" / "c1" / "report.html"
    assert last == f"it is at {page}; `benchlab publish c1` repeats what failed"


def test_where_a_report_is_is_said_only_where_that_is_known() -> None:
    """Not of a place that failed just now; nor that it is nowhere, where it was before."""
    assert publishing.unpublished({"files": "/a"}, {"files": "no"}, "again") == (
        "the report could not be renewed at files, where the same edition was: no\n"
        "`again` repeats what failed"
    )
    assert publishing.unpublished({}, {"files": "no"}, "again") == (
        "the report is not published to files: no\nit is nowhere yet; `again` repeats what failed"
    )


@pytest.mark.usefixtures("rendered")
def test_neither_fault_hides_the_other(
    s3: S3, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No evidence, and no bucket: an earlier report's evidence is not beside this one."""
    work = measured(s3, store, tmp_path, publish=[{**ON_S3, "bucket": "not-there"}])
    with pytest.raises(PublishError, match="NoSuchBucket"):
        work.publish()
    evidence = tmp_path / "reports" / "c1" / "evidence.zip"
    assert evidence.exists()
    monkeypatch.setenv("BENCHLAB_SIGNING_KEY", str(tmp_path / "nokey"))
    for tell in (work.publish, work.verdict):
        with pytest.raises(PublishError) as caught:
            tell()
        said = str(caught.value)
        assert re.search(r"^the report is without evidence\.zip: .*nokey", said, re.MULTILINE)
        assert "not published to s3://not-there/tidb/weekly: listing " in said
        assert said.count("`benchlab publish c1` repeats what failed") == 1
    assert not evidence.exists()
    assert (tmp_path / "reports" / "c1" / "report.md").exists()
    monkeypatch.delenv("BENCHLAB_SIGNING_KEY")
    s3.create("not-there")
    work.publish()
    work.verdict()
    assert evidence.exists()


@pytest.mark.usefixtures("rendered")
def test_an_earlier_report_keeps_its_evidence_where_no_other_can_be_written(
    s3: S3, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is taken away goes after the new report is there; both faults are told."""
    work = measured(s3, store, tmp_path)
    work.publish()
    monkeypatch.setenv("BENCHLAB_SIGNING_KEY", str(tmp_path / "nokey"))
    (tmp_path / "reports").rename(tmp_path / "kept")
    (tmp_path / "reports").write_text("in the way")
    with pytest.raises(PublishError) as caught:
        work.publish()
    assert "the report is without evidence.zip: " in str(caught.value)
    assert "the report is not published to files: " in str(caught.value)
    assert "it is nowhere yet" in str(caught.value)
    assert (tmp_path / "kept" / "c1" / "evidence.zip").exists()


@pytest.mark.usefixtures("rendered")
def test_where_files_cannot_be_written_the_others_are_tried(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The report is somewhere then; the verdict says that the publication is not whole."""
    (tmp_path / "reports").write_text("in the way")
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    with pytest.raises(PublishError, match=r"not published to files: .*cannot be written"):
        work.publish()
    assert set(work.published()) == {PLACE}
    with pytest.raises(NotMeasuredError, match=r"not published; `benchlab publish c1`"):
        work.verdict()


@pytest.mark.usefixtures("rendered")
def test_what_was_published_before_is_not_what_is_measured_now(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """A campaign that is gone on with has no report until it is published again."""
    work = measured(s3, store, tmp_path)
    work.publish()
    work.forget_publication()
    assert work.published() == {}
    with pytest.raises(NotMeasuredError, match="the report was not published"):
        work.verdict()


def test_a_record_is_of_one_edition(tmp_path: Path) -> None:
    """Where an earlier edition is, the present one is not."""
    record = publishing.Record(tmp_path / "published")
    assert record.addresses() == record.faults() == {}
    places = ("files", "s3")
    record.begin("one", places)
    record.add("files", "/a")
    record.fail("s3", "no")
    record.begin("one", places)
    assert (record.addresses(), record.faults()) == ({"files": "/a"}, {"s3": "no"})
    record.add("s3", "s3://b")
    assert (record.addresses(), record.faults()) == ({"files": "/a", "s3": "s3://b"}, {})
    record.begin("two", places)
    assert record.addresses() == {}
    (tmp_path / "published").write_text("")  # as an earlier release left it
    assert record.addresses() == {}
    record.begin("three", places)
    record.add("files", "/a")
    assert record.addresses() == {"files": "/a"}


def test_a_record_knows_whether_other_places_are_meant(tmp_path: Path) -> None:
    """None at all is other than those of the report type."""
    record = publishing.Record(tmp_path / "published")
    assert record.instead() is None
    for instead in ((Destination(**ON_S3), Destination(to="files")), (), None):
        record.begin("one", (), instead)
        assert record.instead() == instead


def test_what_is_no_fault_of_publishing_is_not_hidden(tmp_path: Path) -> None:
    """Only errors that are raised on purpose are collected."""

    class Broken(BasePublisher):
        name = "broken"
        place = "nowhere"

        def publish(self, publication: Publication) -> str:
            raise KeyError("a bug")

    broken = Broken(None, Home(PROJECT, tmp_path), Access())
    record = publishing.Record(tmp_path / "r")
    with pytest.raises(KeyError):
        publishing.publish(publication(), [broken], record, lambda *_: None, "again")


def test_the_publisher_of_files_says_what_hinders_it(s3: S3, tmp_path: Path) -> None:
    """As :mod:`benchlab.publishers.files` alone does."""
    (tmp_path / "reports").write_text("in the way")
    files = catalog.publisher(Destination(to="files"), Home(PROJECT, tmp_path), s3.access)
    with pytest.raises(StoreError, match="cannot be written"):
        files.publish(publication())


def test_what_an_earlier_report_had_is_not_beside_the_next(s3: S3, tmp_path: Path) -> None:
    """A file or a directory; what is not the report's stays; what hinders it is told."""
    files = catalog.publisher(Destination(to="files"), Home(PROJECT, tmp_path), s3.access)
    files.publish(publication(files={**FILES, "evidence.zip": b"PK", "docs/a.html": b"a"}))
    directory = tmp_path / "reports" / "c1"
    (directory / "note.txt").write_text("mine")
    files.publish(publication(lacks=("docs", "evidence.zip", "nothing")))
    assert {each.name for each in directory.iterdir()} == {*FILES, "note.txt"}
    (directory / "note.txt").rename(directory / "note")
    with pytest.raises(StoreError, match=r"note/docs: it is an earlier report's and cannot be"):
        files.publish(publication(lacks=("note/docs",)))
