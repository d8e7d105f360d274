"""The texts that stand in for a result when a call was not run, or its end is not known."""

from __future__ import annotations

from collections.abc import Iterable

from turnkeeper.core.calls import Call, CallState

__all__ = (
    "ABORTED",
    "CALL_LIMIT",
    "NOT_ALLOWED",
    "ONE_CALL_ONLY",
    "OUTCOME_UNKNOWN",
    "TAMPERED",
    "TOO_MANY_ASKED",
    "UNDONE",
    "for_cancelled",
    "invalid_input",
    "unknown_tool",
)

NOT_STARTED = "Not run: the turn was interrupted before this call started. It had no effect."
INTERRUPTED = (
    "Interrupted while it ran: its effect is unknown, it may have happened in whole, in part or not at all. It was not"
    " run again."
)
INTERRUPTED_UNDONE = "Interrupted while it ran, and undone: nothing was changed. It was not run again."
OUTCOME_UNKNOWN = (
    "Outcome unknown: the program stopped while this call ran. It may or may not have taken effect, and it was not run"
    " again. Do not repeat it on your own; say that its outcome must be checked."
)
NO_DECISION = "Not run: this call was waiting for a person's approval, and the conversation went on without it."
NOT_ALLOWED = "Not run: this is not available to the person you are talking with."
TAMPERED = "Not run: the arguments, or the person for whom it would run, are not those that were approved."
TOO_MANY_ASKED = (
    "Not run: after text from outside was read, this needs a person, and too much of this person's was put before them"
    " already. It may be asked for again later."
)
UNDONE = "The call took too long and was undone: nothing was changed."
ABORTED = "The call failed in the database and was undone: nothing was changed."
ONE_CALL_ONLY = (
    "Not run: only one call at a time may be made here, and this was not the first of the reply. Make it again, alone,"
    " if it is still needed."
)
CALL_LIMIT = "Not run: the limit on tool calls for this turn is reached."


_FOR_CANCELLED = {
    CallState.STARTED: INTERRUPTED,
    CallState.OUTCOME_UNKNOWN: OUTCOME_UNKNOWN,
    CallState.AWAITING_APPROVAL: NO_DECISION,
}


def for_cancelled(call: Call) -> str:
    """What the model reads of a call that was open when its turn was cancelled."""
    if call.state is CallState.STARTED and call.effect == "transactional":
        return INTERRUPTED_UNDONE  # its writes would have been committed with its result, and there is none
    return _FOR_CANCELLED.get(call.state, NOT_STARTED)


def unknown_tool(name: str, names: Iterable[str]) -> str:
    """A call of a tool that is not offered: say which are."""
    offered = ", ".join(names)
    return f"There is no tool named {name!r}. " + (
        f"Available tools: {offered}." if offered else "No tools are available."
    )


def invalid_input(raw: str) -> str:
    """A call whose input did not arrive as a JSON object."""
    shown = raw if len(raw) <= 500 else raw[:500] + "…"
    return f"The arguments are not a valid JSON object and the call was not run. Send it again. Received: {shown}"
