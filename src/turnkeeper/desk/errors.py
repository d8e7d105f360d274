"""What can be wrong with the desk's database. The texts name the database without its password."""

from __future__ import annotations

import turnkeeper as tk

__all__ = ("DeskDatabaseError", "DeskVersionError")


class DeskDatabaseError(tk.TurnkeeperError):
    """The desk's database can't be used; the text says which one, why, and what to do. Nothing in it was changed."""

    code = "desk_database"


class DeskVersionError(DeskDatabaseError):
    """The desk's tables are of a version this Turnkeeper doesn't know: upgrade it, or open another database."""

    code = "desk_version"
