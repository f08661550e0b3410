"""Alembic's script for upgrading a store; :func:`benchlab.results.revisions.upgrade` runs it.

Everything happens in the transaction of the connection passed in ``attributes``.
"""

from alembic import context

from benchlab.results import revisions

context.configure(
    connection=context.config.attributes["connection"],
    version_table=revisions.CURRENT.name,
    on_version_apply=revisions.note,
)
context.run_migrations()
