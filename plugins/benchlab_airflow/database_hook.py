"""SQL on a side of a campaign, through the hook of Airflow's mysql provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.log import mask_secret

from benchlab.engines.database import USER, Database
from benchlab.errors import EngineError


def query_on(database: Database) -> Callable[[str], Sequence[Sequence[object]]]:
    """A function that runs one statement in the schema of a side's dataset, and returns its rows.

    The server is reached on loopback, or from the client's host over SSH; every statement has a
    connection of its own, so that nothing is to be kept while the side is started and stopped. The
    account is the campaign's, in a Connection that exists in memory only, and its password is
    masked in the task's log.

    The function raises:
        EngineError: the server does not answer, or refuses the statement.
        UnreachableError: the client's host does not lead to it.
    """
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
                # As the mariadb client asks: no TLS, neither on loopback nor inside SSH.
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
