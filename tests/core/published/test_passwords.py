"""Passwords in published commands are not kept; what an audit has to see is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import language
from benchlab.published import passwords
from benchlab.published.audit.audit import audit
from benchlab.published.rendering import bundle
from tests.builders.published_page import read

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
        "wget --http-password={} https://h/x",
        "time -p mysql -uroot -p{}",
        "go-tpc tpcc -H mysql -p {} --warehouses 4 run",
        "stats auth admin:{}",
        "user one insecure-password {}",
        "user one groups some password {}",
        "CREATE USER 'u'@'%' IDENTIFIED BY '{}';",
        'alter user u identified with mysql_native_password by "{}"',
        "ALTER USER u IDENTIFIED WITH 'caching_sha2_password' AS '{}'",
        "ALTER USER u IDENTIFIED BY '' REPLACE '{}'",
        "SET PASSWORD FOR 'u'@'%' = '{}';",
        "SET PASSWORD = PASSWORD('{}')",
        "update user set authentication_string = password('{}')",
        "mysql -uroot -e \"ALTER USER u IDENTIFIED BY '{}'\"",
        r'mysql -uroot -e "ALTER USER u IDENTIFIED BY \"{}\""',
        r"mysql -uroot -e 'ALTER USER u IDENTIFIED BY '\''{}'\'' '",
        "curl -u root:{} http://h:10080/status",  # kingfisher:ignore
        "curl -sku 'root:{}' https://h",
        'curl --user "root:{}" https://h',
        "curl -H 'Authorization: Bearer {}' https://h",
        "export AWS_SECRET_ACCESS_KEY={}",
        "AWS_SESSION_TOKEN='{}' aws s3 ls",
        "aws configure set aws_secret_access_key {}",
        'br --storage "s3://b?access-key=a&secret-access-key={}&force=1"',
        "docker login -u me -p {} registry",
        "mysqladmin -u root password {}",
        "mysqladmin -h h -P 4000 password '{}'",
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
        "mysql -h h; tiup bench tpcc -p4000 prepare",
        "tiup bench tpcc -P 4000 prepare; tiup bench tpcc -p 3390 run",
        "IDENTIFIED BY '${PASSWORD}'",
        "use mysqladmin to set the password afterwards",
        "curl -u $USER:$PW http://h",
        "curl -u root http://h:10080",
        "stats auth admin:<password>",
        "export AWS_ACCESS_KEY_ID=a",
        "the password of the user is set",
    ],
)
def test_what_is_no_password_stays(command: str) -> None:
    """Placeholders; a port behind the wrong option; the -p of other programs."""
    assert passwords.without(command) == command


@pytest.mark.parametrize(
    "command",
    [
        "sysbench oltp_insert --mysql-password=20240 run",
        "mysql -uroot -p20240",
        "go-tpc tpcc -p 20240 -P 4000 run",
        "go-tpc tpcc --port=4000 -p20240 run",
        "tiup bench tpcc -p 4000 prepare; tiup bench tpcc -P 4000 -p 20240 run",
        "docker login -p 20240",
    ],
)
def test_a_number_is_a_port_only_behind_the_wrong_option_of_go_tpc(command: str) -> None:
    """Elsewhere, or where the port is given, it is a password."""
    assert passwords.without(command) == command.replace("20240", HIDDEN)


def test_each_password_of_a_file_goes() -> None:
    """Whole, whatever signs it has; the comment behind it stays."""
    text = (
        "listen pages\n  stats auth admin:a&b;c # why\n"
        "password: my secret, long  # why\n- aws_secret_access_key = a/b+c\n"
        '"root_password": "a;b",\nrpc-max-size: 4\n'
    )
    assert passwords.without_in_file(text) == (
        f"listen pages\n  stats auth admin:{HIDDEN} # why\n"
        f"password: {HIDDEN}  # why\n- aws_secret_access_key = {HIDDEN}\n"
        f'"root_password": {HIDDEN},\nrpc-max-size: 4\n'
    )


@pytest.mark.parametrize(
    "piece",
    ["mysqladmin -a ", "SET PASSWORD ", "curl -u", "go-tpc -p 4000 ", "password=", "--a-password ",
     "IDENTIFIED BY ", "://", "&a-", "'\\''", '\\"', "-p ", "[ x"],
)  # fmt: skip
def test_long_texts_are_answered(piece: str) -> None:
    """Whatever is repeated in a page of 400 kB: in quadratic time it would not end."""
    text = "mysql curl docker login " + piece * (400_000 // len(piece))
    assert passwords.without(text).startswith("mysql curl docker login ")


PAGE = """# TiDB TPC-C Performance Test Report -- v7.1.0 vs. v7.0.0

## Parameter configuration

```
mysql-host=10.0.0.9
mysql-password = S3cretPw!
```

```
listen pages
  bind *:8080
  stats auth admin:S3cretPw!
```

```sql
ALTER USER 'u' IDENTIFIED BY 'S3cretPw!';
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
    assert [command.text.count(HIDDEN) for command in report.setting.commands] == [0, 1, 1]
    assert [HIDDEN in block.text for block in report.setting.parameters] == [True] * 3
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
