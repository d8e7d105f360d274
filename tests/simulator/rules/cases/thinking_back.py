"""Cases of prefills and of thinking blocks that come back."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import NEW, Case, ask, assistant, call, refused, result, taken, thinking, tool, user
from turnkeeper.simulator.rules import RememberedReplies

__all__ = ("CASES",)

_MANUAL = {"type": "enabled", "budget_tokens": 1_024}
_REDACTED = {"type": "redacted_thinking", "data": "AAA="}
_REPLY = [thinking("sig-1", "Надо найти заказ."), _REDACTED, call("a")]
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response."
)
_BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_HEADER = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
_BETA = {**NEW, "anthropic-beta": "thinking-binding-controls-2026-08-01"}


def first(**members: Any) -> dict[str, Any]:
    return ask(user("Где заказ?"), **{"model": "claude-opus-5-5", "tools": [tool()], "max_tokens": 4_000, **members})


def after(content: Any, *, question: str = "Где заказ?", **members: Any) -> dict[str, Any]:
    """The request after the reply: the same one, the reply as it is sent back, the result."""
    return {**first(**members), "messages": [user(question), assistant(content), user([result("a")])]}


def sent(model: str = "claude-opus-5-5", content: Any = None, **members: Any) -> RememberedReplies:
    memory = RememberedReplies()
    memory.remember(first(**members), _REPLY if content is None else content, model=model)
    return memory


CASES: tuple[Case, ...] = (
    taken("prefill.supported", "Claude 4.5", ask(user(), assistant("Ответ: ("), model="claude-haiku-4-5")),
    refused(
        "prefill.supported",
        "Claude 4.6",
        ask(user(), assistant("Ответ: ("), model="claude-opus-4-6"),
        "messages.1",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    taken("prefill.trailing-whitespace", "none", ask(user(), assistant("Ответ:"), model="claude-haiku-4-5")),
    refused(
        "prefill.trailing-whitespace",
        "a space",
        ask(user(), assistant("Ответ: "), model="claude-haiku-4-5"),
        "messages.1.content",
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    taken("thinking.starts-tool-turn", "thinking first", after(_REPLY, model="claude-opus-4-6", thinking=_MANUAL)),
    taken(
        "thinking.starts-tool-turn",
        "not in adaptive mode",
        after([call("a")], model="claude-opus-4-6", thinking={"type": "adaptive"}),
    ),
    taken(
        "thinking.starts-tool-turn",
        "not outside a tool turn",
        ask(user(), assistant("да"), user(), model="claude-opus-4-6", max_tokens=4_000, thinking=_MANUAL),
    ),
    refused(
        "thinking.starts-tool-turn",
        "left out",
        after([call("a")], model="claude-haiku-4-5", thinking=_MANUAL),
        "messages.1.content.0",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` "
        "is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
        "`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid "
        "this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    ),
    taken("thinking.signature-valid", "as it was sent", after(_REPLY), sent=sent()),
    taken("thinking.signature-valid", "nothing is known of what was sent", after([thinking("чужая"), call("a")])),
    refused(
        "thinking.signature-valid",
        "another one",
        after([thinking("sig-2"), call("a")]),
        "messages.1.content.0",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        sent=sent(),
    ),
    refused(
        "thinking.signature-valid",
        "other redacted data",
        after([_REPLY[0], {**_REDACTED, "data": "AAB="}, call("a")]),
        "messages.1.content.1",
        "messages.1.content.1: Invalid `data` in `redacted_thinking` block",
        sent=sent(),
    ),
    taken("thinking.unchanged", "as it was sent", after(_REPLY), sent=sent()),
    taken(
        "thinking.unchanged",
        "text written into an omitted block is ignored",
        after([thinking("sig-1", "мысль"), call("a")]),
        sent=sent(content=[thinking("sig-1"), call("a")]),
    ),
    taken("thinking.unchanged", "left out after a change of model", after([call("a")]), sent=sent("claude-opus-5")),
    taken(
        "thinking.unchanged",
        "left out in an older turn",
        {
            **first(),
            "messages": [user("Где заказ?"), assistant([call("a")]), user([result("a")]), assistant("Вот."), user()],
        },
        sent=sent(),
    ),
    refused(
        "thinking.unchanged",
        "another text",
        after([thinking("sig-1", "Иначе."), _REDACTED, call("a")]),
        "messages.1.content.0",
        f"messages.1.content.0: {_MODIFIED}",
        sent=sent(),
    ),
    refused(
        "thinking.unchanged",
        "the redacted block left out",
        after([_REPLY[0], call("a")]),
        "messages.1.content.1",
        f"messages.1.content.1: {_MODIFIED}",
        sent=sent(),
    ),
    refused(
        "thinking.unchanged",
        "in another order",
        after([_REDACTED, _REPLY[0], call("a")]),
        "messages.1.content.0",
        f"messages.1.content.0: {_MODIFIED}",
        sent=sent(),
    ),
    refused(
        "thinking.unchanged",
        "all left out in the middle of a tool turn",
        after([call("a")]),
        "messages.1.content.0",
        f"messages.1.content.0: {_MODIFIED}",
        sent=sent(),
    ),
    taken(
        "thinking.conversation-binding",
        "nothing changed",
        after(_REPLY, system="Ты помощник."),
        sent=sent(system="Ты помощник."),
    ),
    taken(
        "thinking.conversation-binding",
        "a moved cache mark, another effort",
        after(_REPLY, tools=[tool(cache_control={"type": "ephemeral"})], output_config={"effort": "low"}),
        sent=sent(),
    ),
    taken(
        "thinking.conversation-binding",
        "a model that binds nothing",
        after(_REPLY, model="claude-opus-5", system="Другая роль."),
        sent=sent("claude-opus-5"),
    ),
    taken(
        "thinking.conversation-binding",
        "dropping was asked for",
        after(
            _REPLY,
            system="x",
            thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        ),
        sent=sent(),
        headers=_BETA,
    ),
    refused(
        "thinking.conversation-binding",
        "another system prompt",
        after(_REPLY, system="Другая роль."),
        "messages.1.content.0",
        _BOUND + _HEADER,
        sent=sent(),
    ),
    refused(
        "thinking.conversation-binding",
        "another tool",
        after(_REPLY, tools=[tool(), tool("b")]),
        "messages.1.content.0",
        _BOUND,
        sent=sent(),
        headers=_BETA,
    ),
    refused(
        "thinking.conversation-binding",
        "an edited question",
        after(_REPLY, question="Где посылка?"),
        "messages.1.content.0",
        _BOUND + _HEADER,
        sent=sent(),
    ),
)
