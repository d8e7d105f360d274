"""Large results: the model gets the head and a handle, and the built-in tool `read_result` reads on."""

from __future__ import annotations

import unicodedata

from turnkeeper.errors import ToolError
from turnkeeper.tools.context import ToolContext
from turnkeeper.tools.definition import tool

__all__ = ("MOST_KEPT", "READ_RESULT", "head_of")

MOST_KEPT = 20_000_000
"""Characters of a result that are kept; what is longer is cut there, and says so."""
_JOINER = "\u200d"
_LOOK_BACK = 32
"""How far before the limit a place to cut is looked for: longer characters than that are not written."""


def head_of(text: str, limit: int, call_id: str) -> tuple[str, str] | None:
    """The beginning of a text longer than `limit` characters, and the note behind it; None for one that is not."""
    if len(text) <= limit:
        return None
    end = _cut(text, limit)
    return text[:end], f"\n[{_where(0, end, len(text))} {_way_on(call_id, end)}]"


def _where(begin: int, end: int, total: int) -> str:
    return f"characters {begin} to {end} of {total}."


def _way_on(call_id: str, end: int) -> str:
    return f'To read on, call {READ_RESULT.name} with call_id "{call_id}" and offset {end}.'


def _cut(text: str, at: int) -> int:
    """A place at `at` or a little before it that parts no character from what belongs to it."""
    for place in range(at, max(at - _LOOK_BACK, 0), -1):
        if not _belongs_to_the_one_before(text, place):
            return place
    return at


def _belongs_to_the_one_before(text: str, place: int) -> bool:
    if place >= len(text):
        return False
    after, before = text[place], text[place - 1]
    if _JOINER in (after, before) or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":  # a skin tone
        return True
    if _is_flag(after) and _is_flag(before):
        run = 0
        while place - 1 - run >= 0 and _is_flag(text[place - 1 - run]):
            run += 1
        return run % 2 == 1
    return before == "\r" and after == "\n"


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


@tool(name="read_result", effect="read")
async def READ_RESULT(ctx: ToolContext, call_id: str, offset: int = 0) -> str:  # noqa: N802 - it is a Tool, not a function
    """Read on in the result of an earlier call of this conversation that was too large to be given whole.

    Args:
        call_id: The id of that call, as the end of its result says.
        offset: The number of the character to begin with, counted from 0.
    """
    found = None if ctx.whole is None else await ctx.whole(call_id)
    if found is None:
        raise ToolError(f"No large result of a call {call_id!r} is kept; take the id from the end of a result.")
    text, limit = found
    if not 0 <= offset < len(text):
        raise ToolError(f"offset is from 0 to {len(text) - 1}: that result has {len(text)} characters.")
    begin = offset
    end = begin + limit
    if end >= len(text):
        return text[begin:]
    end = max(_cut(text, end), begin + 1)
    return f"{text[begin:end]}\n[{_where(begin, end, len(text))} {_way_on(call_id, end)}]"
