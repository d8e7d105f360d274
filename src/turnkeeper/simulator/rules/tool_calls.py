"""Rules that tie calls to results: every tool_use answered once, in the next message, by results that come first."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import BlockView, RequestView, Turn

__all__ = ("RULES",)

HANDLE = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"


def _calls(turn: Turn) -> Iterator[tuple[BlockView, str]]:
    """The calls of an assistant turn that have an id."""
    for block in turn.blocks:
        if block.type == "tool_use" and (call := block.text("id")) is not None:
            yield block, call


def _results(blocks: Sequence[BlockView]) -> Iterator[tuple[BlockView, str]]:
    for block in blocks:
        if block.type == "tool_result" and (call := block.text("tool_use_id")) is not None:
            yield block, call


def _leading_results(turn: Turn) -> list[BlockView]:
    """The results before any other block of a user turn; only these answer calls."""
    leading = []
    for block in turn.blocks:
        if block.type != "tool_result":
            break
        leading.append(block)
    return leading


def _exchanges(view: RequestView) -> Iterator[tuple[Turn, Turn | None]]:
    """Each assistant turn with calls, and the user turn right after it."""
    for turn, after in itertools.zip_longest(view.turns, view.turns[1:]):
        if turn.role == "assistant" and any(True for _ in _calls(turn)):
            yield turn, after if after is not None and after.role == "user" else None


@rule(
    "messages.tool-use-answered",
    source="https://github.com/anthropics/claude-code/issues/5989; "
    "https://github.com/UKGovernmentBEIS/inspect_ai/issues/3108; " + HANDLE,
    sentence="Every tool_use is answered in the very next message, by tool_result blocks that come before any other "
    "content.",
    repair="Answer every call in one user message, results first; a call that was not run gets an is_error result "
    "that says so.",
    open_question="Reports disagree whether the index is that of the assistant message or of the one after; here it "
    "is the assistant message.",
)
def tool_use_answered(view: RequestView) -> Iterator[Finding]:
    for turn, after in _exchanges(view):
        answered = {call for _, call in _results(_leading_results(after))} if after else set()
        open_calls: dict[int, list[str]] = {}
        for block, call in _calls(turn):
            if call not in answered:
                open_calls.setdefault(block.message, []).append(call)
        for message, calls in open_calls.items():
            yield Finding(
                f"messages.{message}",
                f"messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
                "message.",
                repair=_answer_repair(after, calls),
            )


def _answer_repair(after: Turn | None, calls: list[str]) -> str | None:
    later = {call for _, call in _results(after.blocks)} if after else set()
    if set(calls) <= later:
        return "Move the tool_result blocks to the front of the user message, before any text."
    return None


@rule(
    "messages.tool-result-expected",
    source="https://github.com/anthropics/claude-code/issues/13460; "
    "https://github.com/anthropics/claude-code/issues/18947; https://github.com/vellum-ai/vellum-assistant/pull/31035",
    sentence="Every tool_result answers a tool_use of the message before.",
    repair="Keep call and result together: cut the history before the call, or keep both.",
)
def tool_result_expected(view: RequestView) -> Iterator[Finding]:
    for before, turn in itertools.pairwise((None, *view.turns)):
        if turn is None or turn.role != "user":
            continue
        asked = {call for _, call in _calls(before)} if before is not None and before.role == "assistant" else set()
        for block, call in _results(turn.blocks):
            if call not in asked:
                yield Finding(
                    block.path,
                    f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each `tool_result` "
                    "block must have a corresponding `tool_use` block in the previous message.",
                )


@rule(
    "messages.tool-use-ids-unique",
    source="https://github.com/trycua/cua/issues/524; https://github.com/ducks/claux/issues/40",
    sentence="No two tool_use blocks of a request have the same id.",
    repair="Give each call its own id, in the tool_use and in its tool_result.",
)
def tool_use_ids_unique(view: RequestView) -> Iterator[Finding]:
    seen: set[str] = set()
    for block in view.blocks("tool_use"):
        call = block.text("id")
        if call is not None and call in seen:
            yield Finding(block.path, f"{block.path}: `tool_use` ids must be unique")
        elif call is not None:
            seen.add(call)


@rule(
    "messages.single-result",
    source=HANDLE,
    sentence="No call has two results.",
    repair="Keep one result for the call.",
)
def single_result(view: RequestView) -> Iterator[Finding]:
    for turn in view.turns:
        if turn.role != "user":
            continue
        counts: Counter[str] = Counter()
        for block, call in _results(turn.blocks):
            counts[call] += 1
            if counts[call] == 2:
                yield Finding(
                    block.path,
                    f"{block.path}: each tool_use must have a single result. Found multiple `tool_result` blocks "
                    f"with id: {call}",
                )


@rule(
    "messages.error-result-text",
    source="anthropic/lib/tools/_toolsets/_sanitize.py (SDK 2.14.0), error_text_content",
    sentence="An is_error result holds text and nothing else, and is not empty.",
    repair="Say in text what went wrong; leave images out of an error result.",
)
def error_result_text(view: RequestView) -> Iterator[Finding]:
    for block in view.blocks("tool_result", role="user"):
        if block.data.get("is_error") is not True:
            continue
        where = f"{block.path}.tool_result"
        if block.data.get("content") in (None, "", []):
            yield Finding(block.path, f"{where}: content cannot be empty if `is_error` is true")
        elif any(inner.type != "text" for inner in block.nested()):
            yield Finding(block.path, f"{where}: all content must be type `text` if `is_error` is true")


@rule(
    "messages.tools-defined",
    source="https://github.com/aws-samples/bedrock-access-gateway/pull/239 (reports of 2024 to 2026)",
    sentence="A request whose history holds tool_use or tool_result blocks defines tools; not necessarily the same "
    "ones.",
    repair="Send `tools` with every request of the conversation; use tool_choice none to keep the model from calling.",
    open_question="Whether the rule still holds under API version 2026-10-21 is not known; the simulator keeps it.",
)
def tools_defined(view: RequestView) -> Iterator[Finding]:
    if view.saved and "tools" not in view.body:
        return
    if not view.body.get("tools") and any(True for _ in view.blocks("tool_use", "tool_result")):
        yield Finding("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools.")


@rule(
    "messages.toolset-name",
    source="https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference; " + HANDLE,
    sentence="The result of a toolset's call repeats its `toolset_name` and holds text and images (and a browser's "
    "state).",
    repair="Copy `toolset_name` from the call to its result.",
    text_settled=False,
)
def toolset_name(view: RequestView) -> Iterator[Finding]:
    for turn, after in _exchanges(view):
        sets = {call: block.text("toolset_name") for block, call in _calls(turn)}
        for block, call in _results(after.blocks) if after else ():
            expected = sets.get(call)
            if call in sets and block.text("toolset_name") != expected:
                shown = f"'{expected}'" if expected else "absent"
                yield Finding(
                    block.path, f"{block.path}: `toolset_name` must be {shown}, as in the `tool_use` block {call}"
                )
            elif expected and any(inner.type not in _TOOLSET_CONTENT for inner in block.nested()):
                yield Finding(
                    block.path, f"{block.path}: the result of a toolset call may only contain text and image blocks"
                )


_TOOLSET_CONTENT = frozenset({"text", "image", "browser_state"})

RULES: tuple[Rule, ...] = (
    tool_use_ids_unique,
    tool_use_answered,
    tool_result_expected,
    single_result,
    error_result_text,
    tools_defined,
    toolset_name,
)
