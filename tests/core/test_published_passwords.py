"""Passwords in published commands are not kept; what an audit has to see is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import language
from benchlab.published import passwords
from benchlab.published.audit import audit
from benchlab.published.page import read
from benchlab.report.published import bundle

SECRET = "S3cretPw!"
HIDDEN = "${PASSWORD}"


@pytest.mark.parametrize(
    "command",
    [
        "sysbench oltp_insert --mysql-host=h --mysql-password={} --tables=4 run",
        "sysbench oltp_insert --mysql_password='{}' run",
        'sysbench oltp_insert "--mysql-password={}" run',
        "sysbench --pgsql-password={} oltp_insert run",
        "MYSQL_PWD={} mysql -h h -P 4000 -u root",
        "export PGPASSWORD={}",
        "mysql -uroot -p{} -h 127.0.0.1 -P 4000 -e 'select 1'",
        "/usr/bin/mysqldump -p'{}' test",
        "mysql --password {} test",
        "go-tpc tpcc -H h -P 4000 -p {} --warehouses 4 run",
        "go-tpc tpcc -p={} run",
        "tiup bench tpcc -p{} run",
        "tiup bench tpcc --password={} run",
        "for i in 1 2; do sysbench oltp_insert --mysql-password={}; done",
        "sshpass -p {} ssh -p 22 root@h",
        "wget https://user:{}@h/x.tar.gz",
    ],
)
def test_a_password_gives_way_to_a_placeholder(command: str) -> None:
    """All else of the command stays as it is."""
    found = passwords.without(command.format(SECRET))
    assert SECRET not in found
    assert HIDDEN in found
    before, after = command.split("{}")
    assert found.startswith(before.rstrip("'\""))
    assert found.endswith(after.lstrip("'\""))
    assert passwords.without(found) == found


@pytest.mark.parametrize(
    "command",
    [
        "sysbench oltp_insert --mysql-password=${PASSWORD} --threads=4 run",
        "sysbench oltp_insert --mysql-password=$PW run",
        "sysbench oltp_insert --mysql-password={{ password }} run",
        "sysbench oltp_insert --mysql-password=<your password> run",
        "sysbench oltp_insert --mysql-password=password run",
        "sysbench oltp_insert --mysql-password='' run",
        "sysbench oltp_insert --mysql-password=****** run",
        "sysbench oltp_insert --mysql-password= --tables=4 run",
        "go-tpc tpcc --password run",
        "tiup bench tpcc prepare --warehouse 1200 -p 4000",
        "tiup bench tpcc prepare -p4000 --parts 4",
        "go-tpc tpcc -p -1 -P 3390 --conn-params x",
        "mysql -u root -p sbtest -P 4000",
        "ssh -p 2222 root@h",
        "mkdir -p /data/deep",
        "docker run -p 4000:4000 pingcap/tidb",
        "PWD=/data sysbench oltp_insert --db-driver=mysql -p run",
    ],
)
def test_what_is_no_password_stays(command: str) -> None:
    """Placeholders; a port behind the wrong option; the -p of other programs."""
    assert passwords.without(command) == command


PAGE = """# TiDB TPC-C Performance Test Report -- v7.1.0 vs. v7.0.0

## Parameter configuration

```
mysql-host=10.0.0.9
mysql-password = S3cretPw!
```

## Test plan

1. Load the data: `tiup bench tpcc prepare --warehouses 500 -H 10.0.0.9 -p 4000`.
2. Run it: `tiup bench tpcc run --warehouses 500 -H 10.0.0.9 -P 4000 -pS3cretPw! --time 300s`.

```bash
sysbench oltp_insert --mysql-password=S3cretPw! --tables=4 run
```

## Test results

| Threads | v7.0.0 tpmC | v7.1.0 tpmC | tpmC improvement |
|:----|:----|:----|:----|
| 100 | 1000.5 | 1100.5 | 10.00% |
"""


def test_no_password_of_a_page_is_in_its_report_or_in_what_is_rendered() -> None:
    """In commands, steps and files; that a port was given as the password is found all the same."""
    report = read(PAGE, "a.md")
    assert [each.text.count(HIDDEN) for each in report.setting.commands] == [0, 1, 1]
    assert HIDDEN in report.setting.parameters[0].text
    assert SECRET not in json.dumps(report.to_json())
    files = bundle.make(report, language.english())
    assert all(SECRET.encode() not in content for content in files.values())
    assert [(f.kind, f.published) for f in audit([report])[0].findings] == [
        ("command_error", "-p 4000")
    ]


@given(st.text(alphabet="-p=${}<>'\"\\ ab\nMYSQL_PWD go-tpc", max_size=80))
def test_any_text_is_answered(text: str) -> None:
    """Whatever a page has for a command."""
    once = passwords.without(text)
    assert isinstance(once, str)
    assert once.count("\n") == text.count("\n")
