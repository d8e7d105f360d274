"""Alembic's part of the journal: how the tables came to be, one revision per schema version."""

__all__: tuple[str, ...] = ()
