"""Rules about tools that the API runs itself: their calls and their result blocks, both in assistant messages."""

from __future__ import annotations

from collections.abc import Iterator

from turnkeeper.simulator.rules.blocks import SERVER_RESULTS
from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.tool_types import served_by
from turnkeeper.simulator.rules.view import BlockView, RequestView, Turn

__all__ = ("RULES",)

STOPS = "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons"
SERVER = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools"


def _waiting(view: RequestView) -> Iterator[tuple[int, BlockView]]:
    """Each server_tool_use without a result in its own turn or at the start of the next one, with its turn's place."""
    turns = view.turns
    for place, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        answered = _answered(turn)
        later = next((other for other in turns[place + 1 :] if other.role == "assistant"), None)
        if later is not None and _only_results(turns[place + 1]):
            answered |= _answered(later)
        for block in turn.blocks:
            if block.type == "server_tool_use" and block.text("id") not in answered:
                yield place, block


def _answered(turn: Turn) -> set[str | None]:
    return {block.text("tool_use_id") for block in turn.blocks if block.type.endswith("_tool_result")}


def _only_results(turn: Turn) -> bool:
    return turn.role == "user" and all(block.type == "tool_result" for block in turn.blocks)


def _unresolved(block: BlockView) -> str:
    name = block.text("name") or "server_tool"
    return (
        f"`{name}` tool use with id `{block.text('id')}` was found without a corresponding "
        f"`{SERVER_RESULTS.get(name, f'{name}_tool_result')}` block"
    )


def _open(view: RequestView, place: int) -> bool:
    """Whether the API would still finish the turn: it ends the list, or only tool results follow it."""
    rest = view.turns[place + 1 :]
    return not rest or (len(rest) == 1 and _only_results(rest[0]))


@rule(
    "server-tools.resolved",
    source=f"{STOPS}; {SERVER}",
    sentence="A server_tool_use has its result block in the same turn; while it waits, nothing but tool results "
    "follows.",
    repair="Send the paused turn back as it is, followed by nothing but tool_result blocks; or drop the unfinished "
    "server_tool_use.",
)
def resolved(view: RequestView) -> Iterator[Finding]:
    for place, block in _waiting(view):
        if not _open(view, place):
            yield Finding(block.path, _unresolved(block))


@rule(
    "server-tools.provided",
    source=f"{STOPS}; {SERVER}",
    sentence="A request that continues a turn with a waiting server tool still defines that tool.",
    repair="Send the same `tools` as in the request before.",
)
def provided(view: RequestView) -> Iterator[Finding]:
    if view.saved and "tools" not in view.body:
        return
    served = {name for _, tool in view.tools for name in served_by(tool)}
    for place, block in _waiting(view):
        name = block.text("name") or ""
        if _open(view, place) and name not in served:
            yield Finding(block.path, f"{_unresolved(block)}, but no `{name}` tool was provided")


@rule(
    "server-tools.result-expected",
    source="https://github.com/anthropics/claude-code/issues/64383",
    sentence="A server tool's result block has its server_tool_use somewhere before it.",
    repair="Keep the server_tool_use and its result together, in the order they came in.",
)
def result_expected(view: RequestView) -> Iterator[Finding]:
    asked: set[str | None] = set()
    for turn in view.turns:
        if turn.role != "assistant":
            continue
        for block in turn.blocks:
            call = block.text("tool_use_id")
            if block.type == "server_tool_use":
                asked.add(block.text("id"))
            elif block.type in _RESULTS and call is not None and call not in asked:
                yield Finding(
                    block.path,
                    f"{block.path}: unexpected `tool_use_id` found in `{block.type}` blocks: {call}. Each "
                    f"`{block.type}` block must have a corresponding `server_tool_use` block before it.",
                )


_RESULTS = frozenset(SERVER_RESULTS.values())

RULES: tuple[Rule, ...] = (resolved, provided, result_expected)
