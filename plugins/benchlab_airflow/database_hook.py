"""Runs SQL on one side of a campaign, through the hook of Airflow's mysql provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.log import mask_secret

from benchlab.engines.database import USER, Database
from benchlab.engines.given import Given
from benchlab.errors import EngineError


def query_on(database: Database) -> Callable[[str], Sequence[Sequence[object]]] | None:
    """Return a function that runs one statement in the schema of a side's dataset.

    None for somebody else's server: the mariadb client's option file has its account and its TLS.

    The function returns the rows: ``query_on(database)("SELECT 1")``. It reaches the server on
    loopback, or over SSH through the client's host. Each statement has its own connection, so that
    the side may be stopped and started in between. The account is the campaign's, in a Connection
    that exists only in memory, and its password is masked in the task's log.

    The function raises:
        EngineError: the server does not answer, or refuses the statement.
        UnreachableError: it cannot be reached through the client's host.
    """
    if isinstance(database, Given):
        return None
    from airflow.providers.mysql.hooks.mysql import MySqlHook  # slow to import
    from MySQLdb import Error  # type: ignore[import-untyped]

    instance = database.instance
    mask_secret(instance.password)

    def query(statement: str) -> Sequence[Sequence[object]]:
        with database.executor.reach(instance.host, instance.port) as (host, port):
            connection = Connection(
                conn_id=f"benchlab_{instance.side}",
                conn_type="mysql",
                host=host,
                port=port,
                login=USER,
                password=instance.password,
                schema=instance.database,
                # Like the mariadb client: no TLS, neither on loopback nor inside SSH.
                extra=json.dumps({"charset": "utf8mb4", "ssl_mode": "DISABLED"}),
            )
            try:
                rows: Any = MySqlHook(connection=connection).get_records(statement)
            except Error as error:
                raise EngineError(
                    f"{instance.side} ({database.name} {instance.version}): `{statement}` failed "
                    f"on {instance.host} port {instance.port}: {error}"
                ) from error
        return rows or []

    return query
