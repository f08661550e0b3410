"""No secret of a server reaches a report: effective variables that are named like one."""

from __future__ import annotations

import dataclasses
import html

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.report import bundle
from benchlab.results import redaction
from benchlab.results.records import Campaign
from tests.builders import campaigns

# One that every format writes in its own way.
SECRET = 'Tr0|b"4<dor'


def campaign(**variables: str) -> Campaign:
    """A campaign whose servers have these effective variables, the candidate's a letter longer."""
    made = campaigns.campaign(rounds=2)
    facts = {
        side: dataclasses.replace(
            found,
            variables={
                **found.variables,
                **{name: value + "x" * (side == "candidate") for name, value in variables.items()},
            },
        )
        for side, found in made.facts.items()
    }
    return dataclasses.replace(made, facts=facts)


def test_no_file_of_a_report_has_a_secret_of_a_server() -> None:
    """Neither as it is nor as Markdown, HTML or JSON write it."""
    made = campaign(wsrep_sst_auth=SECRET, wsrep_node_address=f"tcp://root:{SECRET[:6]}@db:1")
    results = campaigns.results_of(made.plan)
    files = bundle.make(made, compare(made.plan, results, 2.0), results, languages=("en", "zh"))
    assert any(b"redacted" in content for content in files.values())
    for name, content in files.items():
        assert not redaction.leaks(content, [SECRET]), name
        assert b"4<dor" not in content
        assert b"4&lt;dor" not in content


def test_what_differs_stays_different() -> None:
    """A changed secret is still a difference between the sides."""
    shown = redaction.of_campaign(campaign(wsrep_sst_auth=SECRET)).facts
    assert len({facts.variables["wsrep_sst_auth"] for facts in shown.values()}) == 2


def test_a_campaign_without_secrets_is_as_it_was() -> None:
    """And redacting twice changes nothing more."""
    made = campaigns.campaign(rounds=2)
    assert redaction.of_campaign(made) is made
    once = redaction.of_campaign(campaign(wsrep_sst_auth=SECRET))
    assert redaction.of_campaign(once) == once


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("disconnect_on_expired_password", value) for value in ("ON", "off", "YES", "no", "1")),
        *(("report_password", value) for value in ("", "NONE", "null", "True", "false", "0.5")),
        *(("validate_password_policy", "MEDIUM"), ("validate_password.policy", "STRONG")),
        *(("default_password_lifetime", "360 days"), ("token-limit-policy", "strict")),
        *(("nopassword", SECRET), ("wsrep_node_address", "tcp://db:3306")),
    ],
)
def test_switches_and_policies_are_shown(name: str, value: str) -> None:
    """They are no secrets, whatever their names, and a reader needs them to trust a comparison."""
    shown = redaction.Redacted()
    assert shown.document("f", {name: value}) == {name: value}
    assert shown.places == []
    assert shown.secrets == {}


@pytest.mark.parametrize(
    "name",
    [
        *("password", "report-password", "ssl_passwd", "key.passphrase", "PWD", "client_secret"),
        *("secret_key", "s3-access-key", "apikey", "master_key", "aws_credentials", "credential"),
        *("wsrep_sst_auth", "auth token", "file_key_management_filekey"),
    ],
)
@pytest.mark.parametrize("value", ["ONLY", "none of it", "1.2.3x", "x"])
def test_what_is_named_like_a_secret_is_not_shown(name: str, value: str) -> None:
    """Not even a value that begins as a switch does; the same value has the same number."""
    shown = redaction.Redacted()
    document = {"a": {name: value}, "b": [{name: value}, {name: value + "x"}]}
    assert shown.document("f", document) == {
        "a": {name: "(redacted 1)"},
        "b": [{name: "(redacted 1)"}, {name: "(redacted 2)"}],
    }
    assert shown.places == [f"f: a.{name}", f"f: b.0.{name}", f"f: b.1.{name}"]


def test_what_any_file_may_contain_is_no_leak() -> None:
    """Secrets are looked for from six characters on."""
    assert not redaction.leaks(b"| 12345 |", ["12345"])
    assert redaction.leaks(b"| 123456 |", ["123456"])


@pytest.mark.parametrize(
    "written", [SECRET, html.escape(SECRET), SECRET.replace("|", "\\|"), SECRET.replace('"', '\\"')]
)
def test_a_secret_is_found_however_a_format_writes_it(written: str) -> None:
    """And nothing is found in a text that has none."""
    assert redaction.leaks(f"| x | {written} |".encode(), [SECRET])
    assert not redaction.leaks(b"| x | y |", [SECRET])
