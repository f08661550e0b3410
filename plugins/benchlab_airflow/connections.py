"""Turns Airflow Connections into the results store, AWS clients, SSH keys and server logins.

The store's database is that of the Connection ``benchlab_results`` (conn types ``mysql``,
``postgres`` or ``sqlite``). Without it, and in ``make demo``, it is ``BENCHLAB_STORE_URL``, or else
in Benchlab's home. Raw outputs go to the ``ObjectStoragePath`` in ``BENCHLAB_OBJECTS``.

AWS is reached with the Connection ``benchlab_aws`` (conn type ``aws``), or else with the machine's
own credentials: environment, profile, instance role. Owned hosts are reached with the ``ssh``
Connection named by their topology. Existing servers, and a client's host beside them, are reached
with the Connections named by their report type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, Connection, ObjectStoragePath
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException
from sqlalchemy.engine import URL

from benchlab.campaign.fit.existing import RESULTS_CONNECTION
from benchlab.errors import StoreError, TargetError
from benchlab.home import Home
from benchlab.hosts import server_login, ssh_login
from benchlab.hosts.access import Access
from benchlab.hosts.server_login import ServerLogin
from benchlab.hosts.ssh_login import SshLogin
from benchlab.patience import LIMIT_S, Patience
from benchlab.results.store import Store
from benchlab.targets.target import driving_process

if TYPE_CHECKING:
    from airflow.providers.ssh.hooks.ssh import SSHHook

AWS_CONNECTION_ID = "benchlab_aws"

_DRIVERS = {
    "mysql": "mysql+mysqldb",
    "postgres": "postgresql+psycopg2",
    "sqlite": "sqlite",
}


def open_store(home: Home, *, waits: bool = False) -> Store:
    """Open the results store of this Airflow installation.

    Example: ``with open_store(home.find()) as store: ...``

    Args:
        waits: whether to wait for it if it is away, as a campaign does.

    Raises:
        StoreError: the Connection's type cannot hold results, or the database cannot be reached.
    """
    # In a demo, the process that drives it reads the store as well, and has no Connections.
    connection = None if driving_process() else _connection(RESULTS_CONNECTION)
    url = home.store_url if connection is None else database_url(connection)
    return Store(url, ObjectStoragePath(str(home.objects)), Patience(LIMIT_S * waits))


def database_url(connection: Connection) -> str:
    """A Connection as an SQLAlchemy URL, including the password: never log it.

    Example:
        ``mysql+mysqldb://benchlab:secret@db.example/results``

    Raises:
        StoreError: the Connection's type cannot hold results.
    """
    driver = _DRIVERS.get(connection.conn_type or "")
    if driver is None:
        raise StoreError(
            f"Connection {connection.conn_id}: conn_type {connection.conn_type!r} cannot hold "
            f"results; use one of {', '.join(_DRIVERS)}"
        )
    if driver == "sqlite":
        return f"sqlite:///{connection.host or connection.schema}"
    url = URL.create(
        driver,
        username=connection.login,
        password=connection.password,
        host=connection.host,
        port=connection.port,
        database=connection.schema,
    )
    return url.render_as_string(hide_password=False)


def access() -> Access:
    """Access to AWS, hosts and servers through this Airflow installation's Connections."""
    return Access(aws=_aws_client, ssh_key=_ssh_key, ssh=_ssh, server=_server)


def _connection(name: str) -> Connection | None:
    try:
        return BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None


def _aws_client(service: str, region: str) -> Any:
    from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    from airflow.providers.amazon.aws.hooks.s3 import S3Hook
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    hook = S3Hook if service == "s3" else AwsBaseHook
    try:
        return hook(
            aws_conn_id=AWS_CONNECTION_ID if _connection(AWS_CONNECTION_ID) else None,
            client_type=service,
            region_name=region,
            config=Config(retries={"mode": "adaptive", "max_attempts": 10}),
        ).get_conn()
    except (AirflowException, BotoCoreError, ClientError, ValueError) as error:
        # Creating a client may assume a role, which calls AWS.
        raise TargetError(
            f"Connection {AWS_CONNECTION_ID}: no client for {service} in {region}: {error}"
        ) from error


def _server(name: str) -> ServerLogin:
    if (found := _connection(name)) is None:
        raise server_login.missing(name)
    return server_login.login(
        name, found.host, found.port, found.login, found.password, found.extra_dejson
    )


def _ssh(name: str) -> SshLogin:
    hook = _ssh_hook(name)
    shown = hook.host_key
    extra = _key_fields(hook) | {"host_key": shown and f"{shown.get_name()} {shown.get_base64()}"}
    connection = hook.get_connection(name)
    return ssh_login.login(name, connection.host, hook.port, connection.login, extra)


def _ssh_key(name: str) -> str:
    return ssh_login.key_of(name, _key_fields(_ssh_hook(name)))


def _ssh_hook(name: str) -> SSHHook:
    from airflow.providers.ssh.hooks.ssh import SSHHook  # slow to import

    if (connection := _connection(name)) is None:
        raise ssh_login.missing(name)
    ssh_login.refuse_other_type(name, connection.conn_type)
    try:
        # The hook wants a host; those of a topology are not in the Connection.
        return SSHHook(ssh_conn_id=name, remote_host=connection.host or name)
    except (AirflowException, ValueError) as error:
        raise TargetError(
            f"connection {name}: its extra fields `private_key` and `host_key` have to be whole "
            "keys (RSA, ECDSA or Ed25519), and `key_file` is not set beside `private_key`"
        ) from error


def _key_fields(hook: SSHHook) -> dict[str, Any]:
    extra = hook.get_connection(str(hook.ssh_conn_id)).extra_dejson
    return {"private_key": extra.get("private_key"), "key_file": hook.key_file}
