"""A conversation to keep: as Markdown for its customer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

__all__ = ("as_markdown",)

_WHO = {"customer": "Customer", "staff": "Staff", "model": "Assistant"}


def as_markdown(items: Iterable[dict[str, Any]]) -> str:
    """The messages and replies of a customer's view, each with its time (UTC)."""
    parts: list[str] = []
    for item in items:
        if item["type"] == "message":
            parts.append(_part(_WHO[item["from"]], item))
        elif item["type"] == "reply" and item["text"]:
            parts.append(_part("Assistant", item))
    return "\n".join(parts)


def _part(who: str, item: dict[str, Any]) -> str:
    at = datetime.fromtimestamp(item["at"], UTC).strftime("%Y-%m-%d %H:%M")
    return f"## {who}, {at}\n\n{item['text']}\n"
