"""Rules about thinking blocks that come back: signed, unchanged, in the conversation they were made in.

Rules that need to know what was sent before ask a SentReplies; without one they say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.sent import PrefixChain, mark_of
from turnkeeper.simulator.rules.thinking_config import BINDING_BETA
from turnkeeper.simulator.rules.view import BlockView, MessageView, RequestView

__all__ = ("RULES",)

THINKING = ("thinking", "redacted_thinking")
PRESERVED = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking"
MODIFIED = "https://platform.claude.com/docs/en/api/errors#thinking-blocks-cannot-be-modified"


def _latest(view: RequestView) -> MessageView | None:
    """The latest assistant message."""
    return next((message for message in reversed(view.messages) if message.role == "assistant"), None)


def _in_tool_turn(view: RequestView, message: MessageView) -> bool:
    """Whether the message asked for tools and only their results follow."""
    if not any(block.type == "tool_use" for block in message.blocks):
        return False
    after = [later for later in view.messages if later.index > message.index and later.role == "user"]
    return all(block.type == "tool_result" for later in after for block in later.blocks) and bool(after)


@rule(
    "thinking.starts-tool-turn",
    source="https://github.com/openai/openai-agents-python/issues/1704; "
    "https://github.com/BerriAI/litellm/issues/15601",
    sentence="With manual thinking (enabled), the assistant message before the last tool results starts with a "
    "thinking block.",
    repair="Send the assistant message back exactly as it was received, thinking blocks first.",
)
def starts_tool_turn(view: RequestView) -> Iterator[Finding]:
    latest = _latest(view)
    if view.thinking_type != "enabled" or latest is None or not _in_tool_turn(view, latest):
        return
    first = latest.blocks[0]
    if first.type not in THINKING:
        yield Finding(
            first.path,
            f"messages.{first.message}.content.{first.index}.type: Expected `thinking` or `redacted_thinking`, but "
            f"found `{first.type}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
            "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please "
            "consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        )


def _marked(view: RequestView) -> Iterator[tuple[BlockView, str]]:
    for block in view.blocks(*THINKING, role="assistant"):
        mark = mark_of(block.data)
        if mark is not None:
            yield block, mark


@rule(
    "thinking.signature-valid",
    source="https://github.com/anthropics/claude-code/issues/10627; "
    "https://github.com/anthropics/anthropic-sdk-python/issues/1598",
    sentence="The signature of a thinking block, and the data of a redacted one, are those that the API gave.",
    repair="Send thinking blocks back as they were received, or leave out those of earlier turns.",
)
def signature_valid(view: RequestView) -> Iterator[Finding]:
    if view.sent is None:
        return
    for block, mark in _marked(view):
        if not view.sent.signature_known(mark):
            member = "signature" if block.type == "thinking" else "data"
            yield Finding(block.path, f"{block.path}: Invalid `{member}` in `{block.type}` block")


@rule(
    "thinking.unchanged",
    source=f"{MODIFIED}; https://github.com/WordPress/ai-provider-for-anthropic/issues/30",
    sentence="Thinking blocks of the latest assistant message come back unchanged, complete and in their order.",
    repair="Send the assistant message back exactly as it was received, empty and redacted thinking blocks included.",
)
def unchanged(view: RequestView) -> Iterator[Finding]:
    latest = _latest(view)
    if view.sent is None or latest is None:
        return
    broken = _altered(view, latest) or _missing(view, latest)
    if broken is not None:
        yield Finding(
            broken,
            f"{broken}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response.",
        )


def _altered(view: RequestView, latest: MessageView) -> str | None:
    """The path of a block whose text is not the one that was sent under its signature."""
    assert view.sent is not None
    for block in latest.blocks:
        mark = mark_of(block.data)
        original = view.sent.original_block(mark) if mark is not None else None
        # Text written into a block that was sent without text (display omitted) is ignored, not refused.
        if original is not None and original.get("thinking") and original["thinking"] != block.data.get("thinking"):
            return block.path
    return None


def _missing(view: RequestView, latest: MessageView) -> str | None:
    """The path of the first place where the thinking of a remembered reply is left out or in another order."""
    assert view.sent is not None
    present = [(block, mark_of(block.data)) for block in latest.blocks if block.type in THINKING]
    keys = [mark for _, mark in present if mark is not None]
    if _in_tool_turn(view, latest):
        keys += [str(block.data.get("id")) for block in latest.blocks if block.type == "tool_use"]
    for key in keys:
        reply = view.sent.reply_with(key)
        if reply is None or reply.model != view.model.id:
            continue  # after a change of model, thinking may be left out
        wanted = [mark for mark in map(mark_of, reply.content) if mark is not None]
        found = [(block, mark) for block, mark in present if mark in wanted]
        if [mark for _, mark in found] != wanted:
            wrong = next((block for (block, mark), due in zip(found, wanted, strict=False) if mark != due), None)
            return wrong.path if wrong is not None else f"{latest.path}.content.{len(found)}"
    return None


@rule(
    "thinking.conversation-binding",
    source=f"{PRESERVED}; https://platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1",
    sentence="On models that bind thinking, nothing before a thinking block (system, tools, earlier messages) has "
    "changed since it was made.",
    repair="Keep the conversation append-only; after an edit leave out the thinking blocks behind it.",
    open_question="Removing a thinking block from the middle of the history invalidates later ones too; the simulator "
    "sees that only in the latest message. Accounts made before 2026-08-31 are not checked by default; the simulator "
    "always checks.",
)
def conversation_binding(view: RequestView) -> Iterator[Finding]:
    if view.sent is None or not view.model.conversation_binding or _drops_blocks(view):
        return
    chain = PrefixChain(view.body.get("system"), view.body.get("tools"))
    counts = Counter(mark for _, mark in _marked(view))
    for turn in view.turns:
        reached = {chain.digest()}
        for block in turn.blocks:
            mark = mark_of(block.data) if turn.role == "assistant" else None
            if mark is not None and counts[mark] > 1:
                mark = None  # a script used one signature for several replies: no saying which one this is
            bound = view.sent.prefix_digest_for(mark) if mark is not None else None
            if bound is not None and bound not in reached:
                yield Finding(block.path, f"{block.path}: {_BOUND}{'' if BINDING_BETA in view.betas else _HEADER}")
            chain.add(turn.role, block.data)
            if turn.role == "assistant":
                reached.add(chain.digest())


_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_HEADER = f" That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."


def _drops_blocks(view: RequestView) -> bool:
    thinking = view.body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, Mapping) else None
    asked = isinstance(binding, Mapping) and binding.get("prefix_mismatch_behavior") == "drop_block"
    return asked and BINDING_BETA in view.betas


RULES: tuple[Rule, ...] = (starts_tool_turn, signature_valid, unchanged, conversation_binding)
