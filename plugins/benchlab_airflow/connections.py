"""Airflow Connections become the results store.

The Connection ``benchlab_results`` (conn types ``mysql``, ``postgres`` or ``sqlite``) names the
database; without it the store is where ``BENCHLAB_STORE_URL`` says, or in Benchlab's home. Raw
outputs go to the ``ObjectStoragePath`` that ``BENCHLAB_OBJECTS`` names.
"""

from __future__ import annotations

from airflow.sdk import BaseHook, Connection, ObjectStoragePath
from airflow.sdk.exceptions import AirflowNotFoundException
from sqlalchemy.engine import URL

from benchlab.errors import StoreError
from benchlab.home import Home
from benchlab.store import Store

CONNECTION_ID = "benchlab_results"

_DRIVERS = {
    "mysql": "mysql+mysqldb",
    "postgres": "postgresql+psycopg2",
    "sqlite": "sqlite",
}


def open_store(home: Home) -> Store:
    """The results store of this Airflow installation.

    Raises:
        StoreError: the Connection is of a type that cannot hold results, or the database
            cannot be reached.
    """
    objects = ObjectStoragePath(str(home.objects))
    try:
        connection = BaseHook.get_connection(CONNECTION_ID)
    except AirflowNotFoundException:
        return Store(home.store_url, objects)
    return Store(database_url(connection), objects)


def database_url(connection: Connection) -> str:
    """A Connection as SQLAlchemy writes it, password included: never log it."""
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
