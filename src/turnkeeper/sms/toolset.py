"""The tools of the SMS assistant: the one that sends, and the look-ups of the customer whose phone writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import turnkeeper as tk
from turnkeeper.sms.channel import OutcomeUnknownError
from turnkeeper.sms.outbox import Outbox, in_thread
from turnkeeper.sms.segments import segmented

__all__ = ("SENT", "Directory", "lookup_tools", "sending_tool")

SENT = "send_text_to_user"
"""The tool that every turn must have called."""

Directory = Callable[[str], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]
"""What is known of the customer with that phone number, as far as somebody may read who holds the phone, or None.

`orders`, if it is there, is a list of orders; the rest is about the customer.
"""


def sending_tool(outbox: Outbox, *, most_in_turn: int) -> tk.Tool:
    """The tool that sends to the phone that wrote; the number is the session's and not the model's."""

    async def whether_sent(ctx: tk.ToolContext, text: str) -> str | None:
        found = await outbox.outcome(ctx.key, outbox.checked(text))
        return None if found is None else _told(outbox.checked(text))

    # it answers whoever wrote, and nobody else, so text from outside is no reason to ask a person first
    options: dict[str, Any] = {"parallel": False, "timeout": 60, "when_untrusted": "run"}

    @tk.tool(name=SENT, effect="reconcile", reconcile=whether_sent, **options)
    async def send_text_to_user(ctx: tk.ToolContext, text: str, cause: tk.Injected[str] = "") -> str:
        """Send an SMS to the user. It is the only way to say anything: nothing else that you write reaches anybody.

        Args:
            text: Plain words, without Markdown, as short as they can be: best below 160 characters.
        """
        number = _number(ctx)
        body = outbox.checked(text)
        if cause and await in_thread(outbox.store.count_sent, cause, besides=ctx.key) >= most_in_turn:
            raise tk.ToolError(f"{most_in_turn} messages went out for this one already, which is enough. End the turn.")
        try:
            await outbox.send(ctx.key, number, body, cause=cause)
        except OutcomeUnknownError:
            raise tk.ToolError("It isn't known whether the text was sent. Don't send it again: end the turn.") from None
        return _told(body)

    return send_text_to_user


def lookup_tools(directory: Directory) -> list[tk.Tool]:
    """`get_customer_info` and `get_my_orders`. Neither takes a name or a number: both are about whoever writes."""

    @tk.tool(effect="read", requires="claimed", timeout=30)
    async def get_customer_info(ctx: tk.ToolContext) -> dict[str, Any]:
        """What is known of the customer who writes."""
        return {name: value for name, value in (await _entry(directory, ctx)).items() if name != "orders"}

    @tk.tool(effect="read", requires="claimed", timeout=30)
    async def get_my_orders(ctx: tk.ToolContext) -> list[Any]:
        """The orders of the customer who writes."""
        return list((await _entry(directory, ctx)).get("orders") or ())

    return [get_customer_info, get_my_orders]


async def _entry(directory: Directory, ctx: tk.ToolContext) -> Mapping[str, Any]:
    found = await in_thread(directory, _number(ctx))
    if isinstance(found, Awaitable):
        found = await found
    if found is None:
        raise tk.ToolError("No customer has this phone number.")
    return found


def _number(ctx: tk.ToolContext) -> str:
    if ctx.principal is None or ctx.principal.kind != "phone":
        raise tk.ToolError("Nobody's phone is known here.")
    return ctx.principal.id


def _told(body: str) -> str:
    count = len(segmented(body).segments)
    return f"Sent, in {count} part{'s' if count > 1 else ''}. The turn is over: answer with the one word OK."
