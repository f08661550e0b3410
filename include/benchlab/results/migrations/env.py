"""What Alembic runs to upgrade a store: :func:`benchlab.results.revisions.upgrade` calls it.

All happens in the transaction of the connection that it is given.
"""

from alembic import context

from benchlab.results import revisions

context.configure(
    connection=context.config.attributes["connection"],
    version_table=revisions.CURRENT.name,
    on_version_apply=revisions.note,
)
context.run_migrations()
