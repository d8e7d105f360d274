"""TechNova Desk: a customer-support application on a real database, run by Turnkeeper."""

from __future__ import annotations

from turnkeeper.desk.assistant import agent
from turnkeeper.desk.database import DEFAULT_URL, Desk, open_database
from turnkeeper.desk.errors import DeskDatabaseError, DeskVersionError
from turnkeeper.desk.prompt import PROMPT
from turnkeeper.desk.reply import ReplyFilter, extract_reply
from turnkeeper.desk.toolset import tools

__all__ = (
    "DEFAULT_URL",
    "PROMPT",
    "Desk",
    "DeskDatabaseError",
    "DeskVersionError",
    "ReplyFilter",
    "agent",
    "extract_reply",
    "open_database",
    "tools",
)
