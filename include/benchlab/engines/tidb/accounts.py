"""The SQL that a fresh TiDB is given before anything else."""

from __future__ import annotations

from benchlab.engines.database import USER, sql_value
from benchlab.engines.tidb.topology import is_config
from benchlab.plan.report_type import Parameters


def first_statements(parameters: Parameters, password: str) -> str:
    """The client's account, the requested variables, a password for root.

    Of the parameters only global variables are SQL's; configuration items are left out.
    """
    variables = "".join(
        f"SET GLOBAL {key} = {sql_value(value)};"
        for key, value in parameters.items()
        if not is_config(key)
    )
    return (
        f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{password}';"
        f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;"
        f"{variables}"
        f"ALTER USER 'root'@'%' IDENTIFIED BY '{password}';"
    )
