"""AWS and SSH as Airflow's Connections give them; no secret is in what is said."""

from __future__ import annotations

import json
from pathlib import Path

import asyncssh
import pytest

from tests.airflow.conftest import run_python

AWS_CLIENT = """
from benchlab_airflow.connections import access
client = access().aws("ec2", "eu-west-1")
print(client.meta.region_name)
print(client._request_signer._credentials.access_key)
print(client.meta.config.retries["mode"])
"""
FROM_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": "not-a-secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def test_aws_is_reached_through_the_connection(airflow_env: dict[str, str]) -> None:
    """`benchlab_aws` comes before the environment; the region is the topology's."""
    connection = {
        "conn_type": "aws",
        "login": "AKIACONNECTION",
        "password": "not-a-secret-either",
        "extra": {"region_name": "us-east-1"},
    }
    more = {**FROM_ENVIRONMENT, "AIRFLOW_CONN_BENCHLAB_AWS": json.dumps(connection)}
    said = run_python(AWS_CLIENT, airflow_env, **more).splitlines()[-3:]
    assert said == ["eu-west-1", "AKIACONNECTION", "adaptive"]


def test_without_the_connection_aws_is_reached_as_the_machine_does(
    airflow_env: dict[str, str],
) -> None:
    """Environment, profile or instance role, as for any program of AWS."""
    said = run_python(AWS_CLIENT, airflow_env, **FROM_ENVIRONMENT).splitlines()[-3:]
    assert said == ["eu-west-1", "AKIAENVIRONMENT", "adaptive"]


SSH_KEY = """
from benchlab.errors import TargetError
from benchlab_airflow.connections import access
try:
    print("KEY", repr(access().ssh_key("benchlab_hosts")))
except TargetError as error:
    print("REFUSED", error)
"""
SSH = """
from benchlab.errors import TargetError
from benchlab_airflow.connections import access
try:
    login = access().ssh("benchlab_hosts")
    print("LOGIN", login.host, login.port, login.user, login.host_key)
    assert login.key == KEY and KEY not in repr(login)
except TargetError as error:
    print("REFUSED", error)
"""
KEY = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS"


def ssh_key(env: dict[str, str], code: str = SSH_KEY, **connection: object) -> str:
    """What is said of a Connection `benchlab_hosts` with these fields."""
    fields = {"conn_type": "ssh", "host": "client", **connection}
    return run_python(code, env, AIRFLOW_CONN_BENCHLAB_HOSTS=json.dumps(fields))


def test_the_key_of_hosts_is_in_their_connection(airflow_env: dict[str, str]) -> None:
    """Its text, among the extra fields as the SSH provider has it."""
    said = ssh_key(airflow_env, extra={"private_key": KEY})
    assert said.splitlines()[-1] == f"KEY {KEY!r}"


def test_or_in_a_file_that_the_connection_names(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """`key_file` is read where the task runs."""
    file = tmp_path / "key"
    file.write_text(KEY)
    said = ssh_key(airflow_env, extra={"key_file": str(file)})
    assert said.splitlines()[-1] == f"KEY {KEY!r}"


def test_a_connection_without_a_key_is_refused_by_name(airflow_env: dict[str, str]) -> None:
    """The error says what is missing, and shows nothing of what is there."""
    said = ssh_key(airflow_env, password="hunter2", extra={"private_key_passphrase": "hunter3"})
    assert said.splitlines()[-1].startswith("REFUSED connection benchlab_hosts: has neither")
    assert "hunter" not in said


def test_a_key_file_that_cannot_be_read_is_named(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """With the Connection that names it."""
    said = ssh_key(airflow_env, extra={"key_file": str(tmp_path / "missing")}).splitlines()[-1]
    assert said.startswith("REFUSED connection benchlab_hosts: ")
    assert str(tmp_path / "missing") in said


def test_a_connection_that_is_missing_is_named(airflow_env: dict[str, str]) -> None:
    """With what to make of it."""
    said = run_python(SSH_KEY, airflow_env).splitlines()[-1]
    assert said.startswith("REFUSED connection benchlab_hosts: there is none")


def test_a_host_is_logged_in_to_as_its_connection_says(airflow_env: dict[str, str]) -> None:
    """The SSH provider's hook reads it; the key is in no repr."""
    code = f"KEY = {KEY!r}{SSH}"
    extra = {"private_key": KEY, "host_key": HOST_KEY}
    said = ssh_key(airflow_env, code, login="bench", port=2222, extra=extra)
    assert said.splitlines()[-1] == f"LOGIN client 2222 bench {HOST_KEY}"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"conn_type": "mysql"}, "its type is mysql; hosts are reached over SSH"),
        ({"extra": {"private_key": KEY}}, "extra.host_key: missing"),
        (
            {"extra": {"private_key": "no key"}},
            "its extra fields `private_key` and `host_key` have",
        ),
        ({"login": ""}, "login: missing"),
    ],
)
def test_what_does_not_lead_to_a_host_is_refused(
    airflow_env: dict[str, str], changes: dict[str, object], why: str
) -> None:
    """By the name of the Connection and its field."""
    fields = {"login": "bench", "extra": {"private_key": KEY, "host_key": HOST_KEY}, **changes}
    said = ssh_key(airflow_env, SSH, **fields).splitlines()[-1]
    assert said.startswith(f"REFUSED connection benchlab_hosts: {why}")


S3_CLIENT = """
from airflow.providers.amazon.aws.hooks.s3 import S3Hook
from benchlab_airflow import connections
asked, get_conn = [], S3Hook.get_conn
S3Hook.get_conn = lambda hook: asked.append(hook.aws_conn_id) or get_conn(hook)
client = connections.access().aws("s3", "eu-west-1")
print(client.meta.region_name, client.meta.endpoint_url, *asked)
print(client._request_signer._credentials.access_key)
print(client.meta.config.retries["mode"])
"""


def test_s3_is_reached_through_its_hook(airflow_env: dict[str, str]) -> None:
    """On the same Connection, which may name another endpoint; the region is the report type's."""
    connection = {
        "conn_type": "aws",
        "login": "AKIACONNECTION",
        "password": "not-a-secret-either",
        "extra": {"region_name": "us-east-1", "endpoint_url": "http://127.0.0.1:9000"},
    }
    more = {**FROM_ENVIRONMENT, "AIRFLOW_CONN_BENCHLAB_AWS": json.dumps(connection)}
    said = run_python(S3_CLIENT, airflow_env, **more).splitlines()[-3:]
    assert said == ["eu-west-1 http://127.0.0.1:9000 benchlab_aws", "AKIACONNECTION", "adaptive"]


def test_without_the_connection_s3_is_reached_as_the_machine_does(
    airflow_env: dict[str, str],
) -> None:
    """The hook has no Connection then, not Airflow's own default one."""
    said = run_python(S3_CLIENT, airflow_env, **FROM_ENVIRONMENT).splitlines()[-3:]
    place = "https://s3.eu-west-1.amazonaws.com"
    assert said == [f"eu-west-1 {place} None", "AKIAENVIRONMENT", "adaptive"]


SERVER = """
from benchlab_airflow.connections import access
found = access().server("my_tidb")
print(found, len(found.password))
"""


def test_a_server_that_exists_is_reached_through_its_connection(
    airflow_env: dict[str, str],
) -> None:
    """As the command line reads the same variable, with TLS; the password is in no repr."""
    uri = "mysql://be%40nch:p%23%25s@db.example.com:4000?ssl_mode=REQUIRED"
    said = run_python(SERVER, airflow_env, AIRFLOW_CONN_MY_TIDB=uri).splitlines()[-1]
    assert said == (
        "ServerLogin(connection='my_tidb', host='db.example.com', port=4000, user='be@nch', "
        "tls=Tls(ca=None)) 4"
    )
