"""Run by Alembic: apply revisions over the connection, and in the transaction, that the caller opened."""

from alembic import context

from turnkeeper.journal import schema

__all__: tuple[str, ...] = ()

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    version_table=schema.VERSION_TABLE,
)
context.run_migrations()
