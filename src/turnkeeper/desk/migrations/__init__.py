"""Alembic's part of the desk: how the tables came to be, one revision per schema version."""

__all__: tuple[str, ...] = ()
