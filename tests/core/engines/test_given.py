"""A server that exists, as TiDB v6.5.0 and MySQL 9.7.4 answer: what they say was recorded there."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchlab.engines import tidb
from benchlab.engines.database import BackgroundJobs, Database
from benchlab.engines.given import (
    CLASSES,
    MARK,
    DeniedError,
    Given,
    GivenInstance,
    NotYetError,
    engine_of,
    product_of,
    version_of,
)
from benchlab.errors import BenchlabError, CommandError, EngineError, TargetError
from benchlab.hosts.server_login import ServerLogin, Tls
from tests.builders.fakes import FakeExecutor

DENIED = "ERROR 1227 (42000): Access denied; you need (at least one of) the CONFIG privilege(s)"
# The mariadb client's output, whatever else is in the statement.
ANSWERS = {
    "SELECT VERSION()": "5.7.25-TiDB-v6.5.0",
    "SELECT CURRENT_USER()": "few@%",
    "SHOW STATUS LIKE 'Ssl_cipher'": "Ssl_cipher\t",
    "SELECT tidb_version()": "Release Version: v6.5.0\\nEdition: Community\\n"
    "Git Commit Hash: 706c3fa3c526cdba5b3e9f066b1a568fb96c56e3\\nStore: unistore",
    "SHOW GRANTS": "GRANT USAGE ON *.* TO 'few'@'%'\n"
    "GRANT SELECT,INSERT,CREATE ON sbtest.* TO 'few'@'%'",
    "information_schema.schemata": "0",
    "SHOW GLOBAL VARIABLES": "tidb_txn_mode\tpessimistic",
    "JSON_EXTRACT(@@tidb_config": '"unistore"',
    "information_schema.ddl_jobs": "40\t1\n5\t0",
    "SHOW CONFIG": "tidb\t10.0.0.1:4000\tlog.level\twarn\n"
    "tikv\t10.0.0.2:20160\tstorage.block-cache.capacity\t8GiB\n"
    "tikv\t10.0.0.3:20160\tstorage.block-cache.capacity\t9GiB\n"
    "tikv\t10.0.0.3:20160\tlog.file.filename\t",
}


MYSQL = {
    **ANSWERS,
    "SELECT VERSION()": "9.7.4-2",
    "SELECT CURRENT_USER()": "few@127.0.0.1",
    "SELECT tidb_version()": "ERROR 1305 (42000) at line 1: FUNCTION tidb_version does not exist",
}
NAMELESS = "Release Version: None\\nEdition: Community\\nGit Commit Hash: None"
# What MySQL makes of GRANT ALL ON *.*; and below it, with `partial_revokes`, of a REVOKE.
MYSQL_ALL = (
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, SHUTDOWN, PROCESS, FILE, "
    "REFERENCES, INDEX, ALTER, SHOW DATABASES, SUPER ON *.* TO `few`@`127.0.0.1`\n"
    "GRANT APPLICATION_PASSWORD_ADMIN,BACKUP_ADMIN,XA_RECOVER_ADMIN ON *.* TO `few`@`127.0.0.1`"
)
MYSQL_REVOKED = "REVOKE INSERT ON `sbtest`.* FROM `few`@`127.0.0.1`"


def given(
    answers: Mapping[str, str] = ANSWERS,
    tls: Tls | None = None,
    *,
    engine: str = "tidb",
    version: str = "v6.5.0",
) -> Given:
    """A server that answers so; an answer that is an error is the client's."""
    known = {**answers, **{key: text for key, text in ANSWERS.items() if key not in answers}}

    def answer(command: object, statement: str) -> str:
        found = next((text for key, text in known.items() if key in statement), "")
        if found.startswith("ERROR"):
            raise CommandError("fake", "mariadb", 1, found)
        return found

    login = ServerLogin("my_tidb", "10.0.0.1", 4000, "few", "secret", tls)
    instance = GivenInstance(
        side="baseline",
        version=version,
        parameters={},
        directory=Path("/campaign/baseline"),
        host=login.host,
        port=login.port,
        max_connections=0,
        database="sbtest",
        password=login.password,
        campaign="c1",
        home="0123abcd",
        login=login,
    )
    return CLASSES[engine](FakeExecutor(answer), instance, lambda: None)


@pytest.mark.parametrize(
    "called",
    [
        *("8.0.26-tidb-5.2", "Test-5.7.22", "5.7.25-TiDB-v6.5.0", "5.7.25-TiDB-v4.0.0"),
        *("8.0.26", "10.4.8-MariaDB-log"),
    ],
)
def test_a_tidb_is_one_whatever_it_calls_itself(called: str) -> None:
    """`server-version` may be set to anything; its release is what tidb_version() says."""
    server = given({"SELECT VERSION()": called})
    for reported in (server.reported(), server.version()):
        assert (version_of(reported), engine_of(reported)) == ("v6.5.0", "tidb")
    assert server.misfits() == []
    assert version_of(given(MYSQL).reported()) == "9.7.4"


@pytest.mark.parametrize(
    ("called", "comment"),
    [
        ("5.7.25-OceanBase-v4.2.1.8", ""),
        ("5.7.25-OceanBase_CE-v4.3.5.1", ""),
        ("8.0.30-Vitess", "MySQL Community Server - GPL"),
        ("8.0.32-X-Cluster-8.4.18-20240101", ""),
        ("5.7.22-ShardingSphere-Proxy 5.1.0", ""),
        ("relay 1.0", ""),
        ("8.0.33", "StarRocks version 3.3.2"),
        ("8.0.33", "3.1.5-5d8438a"),
        ("5.7.99", "doris version doris-2.1.0"),
        ("8.0.11", "Dolt"),
    ],
)
def test_another_database_with_mysqls_protocol_is_refused(called: str, comment: str) -> None:
    """Two OceanBase would both be MySQL 5.7.25, and an upgrade of it no change."""
    answers = {**MYSQL, "SELECT VERSION()": called, "@@version_comment": comment}
    with pytest.raises(TargetError, match=r"\(connection my_tidb\).*none of TiDB, MariaDB and"):
        given(answers).reported()


@pytest.mark.parametrize(
    "comment", ["MySQL Community Server - GPL", "Percona Server (GPL), Release 28", "(Ubuntu)", ""]
)
def test_mysql_is_itself_whoever_packed_it(comment: str) -> None:
    """Percona's and a distribution's are MySQL."""
    assert product_of(given({**MYSQL, "@@version_comment": comment}).reported()) == "MySQL"


def test_a_proxy_is_not_taken_for_the_server_behind_it() -> None:
    """ProxySQL answers `SELECT VERSION()` itself, if it is written just so."""
    behind = {"SELECT VERSION() ": "10.11.5-MariaDB-log", "SELECT VERSION()": "8.0.11"}
    no_tidb = {"SELECT tidb_version()": MYSQL["SELECT tidb_version()"]}
    assert version_of(given({**behind, **no_tidb}).reported()) == "10.11.5"


@pytest.mark.parametrize(
    "error", ["ERROR 2013 (HY000): Lost connection", "ERROR 1040 (08004): Too many connections"]
)
def test_what_is_asked_in_vain_makes_no_mysql_of_a_tidb(error: str) -> None:
    """A server that did not get to answer has not said that it is none."""
    with pytest.raises(NotYetError, match=r"\(connection my_tidb\)"):
        given({"SELECT VERSION()": "8.0.26", "SELECT tidb_version()": error}).reported()


def test_a_server_without_a_number_is_what_the_person_says() -> None:
    """A TiDB that was built without its version; no gate says that it is the right one."""
    says = {"SELECT VERSION()": "5.7.25-TiDB-None", "SELECT tidb_version()": NAMELESS}
    nameless = given({**says, "SHOW GRANTS": ""})
    nameless.check()
    assert nameless.misfits() == []
    assert nameless.columns()["wrong_version_servers"] is None
    assert given().columns()["wrong_version_servers"] == 0.0
    with pytest.raises(TargetError, match="write the version that it is in place of `running`"):
        version_of(nameless.reported())


def test_a_suffix_is_another_product() -> None:
    """TiDB Cloud Serverless is no TiDB v6.5.0, whoever plans it as such."""
    says = {
        "SELECT VERSION()": "8.0.11-TiDB-v6.5.0-serverless",
        "SELECT tidb_version()": "Release Version: v6.5.0-serverless\\nEdition: Community",
    }
    assert version_of(given(says).reported()) == "v6.5.0-serverless"
    (misfit,) = given(says).misfits()
    assert "TiDB-v6.5.0-serverless now; the plan is of version v6.5.0" in misfit
    assert given(says, version="v6.5.0-serverless").misfits() == []


def mysql(grants: str) -> Given:
    """A MySQL on which the account has these rights."""
    return given({**MYSQL, "SHOW GRANTS": grants}, engine="mariadb", version="9.7.4")


def test_rights_are_read_as_tidb_writes_them() -> None:
    """Without quotes and spaces; those that are missing are named with their GRANT."""
    with pytest.raises(TargetError, match=r"GRANT UPDATE, DELETE, DROP, INDEX ON sbtest\.\* TO"):
        given().check()
    given({"SHOW GRANTS": "GRANT ALL PRIVILEGES ON sb%.* TO 'few'@'%'"}).check()


@pytest.mark.parametrize(("by_name", "missing"), [("ALL PRIVILEGES", ""), ("SELECT", "INSERT")])
def test_rights_that_are_shown_by_name_only_are_found(by_name: str, missing: str) -> None:
    """TiDB v2 shows root none without a name; where there are none by name either, none are known
    and none are said to be missing.
    """
    silent = {
        "SHOW GRANTS FOR 'few'@'%'": f"GRANT {by_name} ON *.* TO 'few'@'%'",
        "SHOW GRANTS": "",
    }
    if missing:
        with pytest.raises(TargetError, match=f"lacks {missing}, UPDATE"):
            given(silent).check()
    else:
        given(silent).check()
    given({"SHOW GRANTS": ""}).check()
    refused = "ERROR 1141 (42000): There is no such grant defined for user 'few' on host '%'"
    given({"SHOW GRANTS FOR": refused, "SHOW GRANTS": ""}).check()


def test_rights_are_read_as_mysql_writes_them() -> None:
    """All rights are a list of them; what is taken away from one schema again is missing there."""
    mysql(MYSQL_ALL).check()
    with pytest.raises(TargetError, match=r"lacks INSERT on the schema sbtest: GRANT INSERT ON"):
        mysql(f"{MYSQL_ALL}\n{MYSQL_REVOKED}").check()
    few = "GRANT USAGE ON *.* TO `few`@`127.0.0.1`\nGRANT SELECT ON `sbtest`.* TO `few`@`127.0.0.1`"
    with pytest.raises(TargetError, match=r"lacks INSERT, UPDATE, DELETE, CREATE, DROP, INDEX on"):
        mysql(few).check()


def test_a_replica_is_refused_by_the_server_and_in_words() -> None:
    """Nothing says so before somebody tries to write there."""
    read_only = "ERROR 1290 (HY000) at line 1: The MySQL server is running with the --read-only"
    with pytest.raises(TargetError, match=r"\(connection my_tidb\): the server is read-only"):
        given({"CREATE DATABASE": read_only}).create_database()


def test_a_wrong_password_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before anything is written nor in a trial: only its owner can mend it."""
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    denied = "ERROR 1045 (28000): Access denied for user 'few'@'10.0.0.9' (using password: YES)"
    server = given({"": denied})
    with pytest.raises(TargetError, match="the server refuses the account or its password"):
        server.check()
    with pytest.raises(EngineError, match="the server refuses the account or its password"):
        server.start()


@pytest.mark.parametrize(
    "printed",
    [
        "ERROR 2013 (HY000): Plugin tidb_sm3_password could not be loaded: /usr/lib/x: cannot open",
        "ERROR 1045 (28000): Plugin tidb_sm3_password could not be loaded: /usr/lib/x: cannot open",
        "ERROR 2061 (HY000): Couldn't read RSA public key from server",
    ],
)
def test_a_way_to_log_in_that_the_client_lacks_is_neither_a_password_nor_waited_for(
    monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    """TiDB Cloud waits for a password that is not known yet, and a trial for a lost connection."""
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    server = given({"": printed})
    with pytest.raises(TargetError, match="the account logs in by") as refused:
        server.check()
    assert not isinstance(refused.value, DeniedError | NotYetError)
    with pytest.raises(EngineError, match="the account logs in by"):
        server.start()


def test_a_connection_that_stayed_unencrypted_is_refused() -> None:
    """The client says nothing where the server has no TLS and no certificate is to be verified."""
    with pytest.raises(TargetError, match=r"my_tidb\): the server offers no encrypted connection"):
        given(tls=Tls()).check()


def test_configuration_is_recorded_as_far_as_rights_go() -> None:
    """Of all components; where their servers differ, every value."""
    facts = given().facts()
    assert facts.git_hash == "706c3fa3c526cdba5b3e9f066b1a568fb96c56e3"
    assert facts.variables == {
        "tidb_txn_mode": "pessimistic",
        "tidb.log.level": "warn",
        "tikv.storage.block-cache.capacity": "8GiB | 9GiB",
        "tikv.log.file.filename": "",
    }
    assert given({"SHOW CONFIG": DENIED}).facts().variables == {"tidb_txn_mode": "pessimistic"}


@pytest.mark.parametrize(
    ("store", "said"),
    [('"unistore"', tidb.Engine.caveat), ('"tikv"', None), ("ERROR 1193 (HY000)", None)],
)
def test_embedded_storage_is_told_from_tikv(store: str, said: str | None) -> None:
    """Figures of a test store are no cluster's, even where somebody else runs it."""
    assert given({"JSON_EXTRACT(@@tidb_config": store}).limits() == said


@pytest.mark.parametrize(
    ("everywhere", "sees"),
    [("PROCESS", True), ("ALL PRIVILEGES", True), ("USAGE", False), ("BACKUP_ADMIN", False)],
)
def test_ddl_of_others_is_not_taken_for_none_where_it_cannot_be_seen(
    everywhere: str, sees: bool
) -> None:
    """TiDB hides jobs of schemas on which the account has no right, without an error."""
    rights = (
        f"GRANT {everywhere} ON *.* TO 'few'@'%'\nGRANT ALL PRIVILEGES ON sbtest.* TO 'few'@'%'"
    )
    found = given({"SHOW GRANTS": rights}).background_jobs()
    assert found == (BackgroundJobs(45, 44) if sees else None)


def marked(mark: str) -> Given:
    """A server whose schema has this mark."""
    schema = {"information_schema.schemata": "1", "SHOW TABLES": MARK}
    return given(
        {"SELECT campaign": mark, "SHOW GRANTS": "GRANT ALL ON *.* TO 'few'@'%'", **schema}
    )


@pytest.mark.parametrize("home", ["0123abcd", "9876fedc"])
def test_a_schema_of_another_campaign_is_refused_with_how_to_drop_it(home: str) -> None:
    """In the home that made it."""
    other = home != "0123abcd"
    where = f"in the home whose file `mark` says {home}, " * other
    how = f"to drop it, run `benchlab give-back c2` {where}unless that campaign is still at work"
    with pytest.raises(TargetError, match=how):
        marked(f"c2/candidate/{home}").check()


@pytest.mark.parametrize("mark", ["x", "", "c1/baseline", "c;1/baseline/0123abcd", "a/b/c/d/e"])
def test_a_mark_that_is_not_benchlabs_is_refused_in_words(mark: str) -> None:
    """It is a cell of somebody's table."""
    for ask in (marked(mark).check, marked(mark).create_database):
        with pytest.raises(TargetError, match=r"a mark that is not Benchlab's|not created by"):
            ask()


HOSTILE = ("", "x", "\t", "a\tb", "a\nb", "1e999", "1\tx", "\n\n", "x\ty\tz\n1", "x\u2028y", "-1")


@pytest.mark.parametrize("engine", ["tidb", "mariadb"])
@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_server_answers_is_an_answer_or_refused(engine: str, text: str) -> None:
    """In words of ours, never by a traceback."""
    answers = dict.fromkeys(ANSWERS, text) | {"SELECT": text, "SHOW": text, "ANALYZE": text}
    for version in ("SELECT VERSION()", "nothing"):
        one = given(answers | {version: ANSWERS["SELECT VERSION()"]}, engine=engine)
        for ask in (
            *(one.check, one.reported, one.version, one.facts, one.variables, one.about),
            *(one.git_hash, one.background_jobs, one.limits, one.columns, one.misfits, one.remove),
            *(one.create_database, one.regions, one.write_stalls, one.open_account),
            lambda one=one: one.row_counts(["sbtest1"]),
            lambda one=one: Database.checksum(one, ["sbtest1"]),
            lambda one=one: one.analyze(["sbtest1"]),
        ):
            with contextlib.suppress(BenchlabError):
                ask()
