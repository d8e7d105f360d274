"""What has to be there before a turn begins or goes on: values that were bound, a database, tools. Else it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.core.events import Event, TurnStarted
from turnkeeper.core.machine import Phase
from turnkeeper.core.tool_choice import AUTO
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.standing import hidden_from
from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.journal.port import Journal
from turnkeeper.tools import Registry
from turnkeeper.types import Principal
from turnkeeper.wire.json import decode, encode

__all__ = (
    "bound_names",
    "check_bound",
    "check_choice",
    "check_journal",
    "check_same",
    "check_tools",
    "check_when_busy",
    "choice_of",
    "is_begun_by",
)


def bound_names(registry: Registry, injected: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The tools' parameters that the application has bound; None for none."""
    return tuple(sorted(registry.injected & set(injected))) or None


def check_bound(recorder: Recorder, conversation_id: str, registry: Registry, injected: Mapping[str, Any]) -> None:
    """ConfigurationError where the turn was begun with values of the application that are not here now.

    Their parameters' defaults would stand in for them, and may mean everybody's data.
    """
    begun = recorder.begun
    names = set(begun.injected or () if begun is not None else ()) & registry.injected - set(injected)
    if names:
        raise ConfigurationError(
            f"the turn of conversation {conversation_id!r} was begun with values for the tools' parameters"
            f" {', '.join(sorted(names))}, and goes on only with them: give injected= to keeper.conversation(), or"
            " inject= to recover() and work_off()"
        )


def check_journal(journal: Journal, registry: Registry) -> None:
    """ConfigurationError for transactional tools over a journal without a database."""
    if journal.transactional:
        return
    names = [tool.name for tool in registry.tools if tool.effect == "transactional"]
    if names:
        raise ConfigurationError(
            f"{', '.join(names)}: a transactional tool writes in the journal's own database, and this journal has"
            ' none; open one with `agent.open("sqlite:///…")` or `agent.open("postgresql+psycopg://…")`'
        )


def check_tools(recorder: Recorder, conversation_id: str, *, has_tools: bool) -> None:
    """ConfigurationError for a history with calls where no tools are offered any more."""
    if recorder.history.tools_used and not has_tools:
        raise ConfigurationError(
            f"conversation {conversation_id!r} holds tool calls, and the API wants tools defined then: bring the same"
            " tools"
        )


def choice_of(recorder: Recorder, events: Sequence[Event], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The choice of the turn that begins or goes on with these events: a turn keeps the one it began with."""
    turn = recorder.state.turn
    begins = turn is None or any(isinstance(event, TurnStarted) for event in events)
    return own if begins or turn is None else turn.choice or AUTO


def check_same(begun: TurnStarted | None, body: Any, *, key: str, conversation_id: str) -> None:
    """InputError for a key that came before with another message: one of the two would never be answered."""
    if begun is not None and begun.content is not None and _blocks(decode(begun.content)) != _blocks(body):
        raise InputError(
            f"the key {key!r} came to conversation {conversation_id!r} before, with another message: each message needs"
            " a key of its own"
        )


def _blocks(content: Any) -> Any:
    """Text as the block that it stands for, in the form that a journal keeps."""
    found = decode(encode(content))
    return [{"type": "text", "text": found}] if isinstance(found, str) else found


def check_choice(choice: Mapping[str, Any], registry: Registry, who: Principal | None) -> None:
    """ConfigurationError for a forced tool that isn't there (any more), or that this principal may not use."""
    name = choice.get("name")
    if name is not None and name not in registry.names:
        raise ConfigurationError(f"the turn was begun with tool_choice {name!r}, and there is no such tool: bring it")
    if name in hidden_from(registry, who):
        raise ConfigurationError(f"tool_choice {name!r} is a tool that this principal may not use; use 'auto'")


def check_when_busy(given: str) -> None:
    """InputError unless it is one of what `send` takes."""
    if given not in ("refuse", "wait", "interrupt"):
        raise InputError(f"when_busy is 'refuse', 'wait' or 'interrupt', not {given!r}")


async def is_begun_by(recorder: Recorder, key: str | None) -> bool:
    """Whether that very message began the turn that is open: delivered again, it does not interrupt itself."""
    if key is None:
        return False
    await recorder.load()
    turn = recorder.state.turn
    return recorder.state.phase is not Phase.IDLE and turn is not None and turn.key == key
