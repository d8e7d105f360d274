"""Rules about cache marks (`cache_control`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import BlockView, RequestView

__all__ = ("RULES",)

CACHING = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
MAX_MARKS = 4


@dataclass(frozen=True, slots=True)
class _Place:
    """A place that could bear a mark, in the order the API reads them: tools, system, messages."""

    path: str
    mark: Mapping[str, Any] | None
    eligible: bool

    @property
    def ttl(self) -> str:
        return str(self.mark.get("ttl", "5m")) if self.mark is not None else ""


def _place(path: str, block: Mapping[str, Any]) -> _Place:
    mark = block.get("cache_control")
    kind = block.get("type")
    eligible = kind not in ("thinking", "redacted_thinking") and not (kind == "text" and block.get("text") == "")
    return _Place(path, mark if isinstance(mark, Mapping) else None, eligible)


def _places(view: RequestView) -> Iterator[_Place]:
    for index, tool in view.tools:
        yield _place(f"tools.{index}", tool)
    system = view.body.get("system")
    for index, block in enumerate(system if isinstance(system, list) else ()):
        if isinstance(block, Mapping):
            yield _place(f"system.{index}", block)
    for message in view.messages:
        for block in message.blocks:
            yield from _in_order(block)


def _in_order(block: BlockView) -> Iterator[_Place]:
    for inner in block.nested():
        yield from _in_order(inner)
    yield _place(block.path, block.data)


def _automatic(view: RequestView) -> Mapping[str, Any] | None:
    mark = view.body.get("cache_control")
    return mark if isinstance(mark, Mapping) else None


def _all_marks(view: RequestView) -> tuple[list[_Place], _Place | None]:
    """The explicit marks, and the mark that the top-level member adds (None where it adds none)."""
    places = list(_places(view))
    marks = [place for place in places if place.mark is not None]
    top = _automatic(view)
    target = next((place for place in reversed(places) if place.eligible), None)
    if top is None or target is None:
        return marks, None
    added = _Place(target.path, top, eligible=True)
    return marks, None if target.mark is not None and target.ttl == added.ttl else added


@rule(
    "cache.at-most-four",
    source=f"{CACHING}; https://github.com/BlockRunAI/Franklin/issues/73",
    sentence="At most four cache marks stand in tools, system and messages together, the automatic one counted.",
    repair="Keep the marks on the last tool, the system prompt and the last messages; remove the others.",
)
def at_most_four(view: RequestView) -> Iterator[Finding]:
    marks, added = _all_marks(view)
    count = len(marks) + (added is not None)
    if count > MAX_MARKS:
        path = added.path if added is not None and len(marks) == MAX_MARKS else marks[MAX_MARKS].path
        yield Finding(path, f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {count}.")


@rule(
    "cache.automatic-ttl",
    source=CACHING,
    sentence="The top-level mark and an explicit mark on the same (last) block have the same lifetime.",
    repair="Give both the same ttl, or remove one.",
    text_settled=False,
)
def automatic_ttl(view: RequestView) -> Iterator[Finding]:
    _, added = _all_marks(view)
    if added is None:
        return
    for place in _places(view):
        if place.path == added.path and place.mark is not None:
            yield Finding(
                "cache_control",
                f"cache_control.ttl: the top-level ttl='{added.ttl}' conflicts with the ttl='{place.ttl}' "
                f"cache_control on {place.path}",
            )


@rule(
    "cache.ttl-order",
    source=f"{CACHING}; https://github.com/cnighswonger/claude-code-cache-fix/issues/44",
    sentence="Marks with a lifetime of one hour come before those of five minutes.",
    repair="Use one lifetime for all marks, or 1h on tools and system and 5m on messages.",
)
def ttl_order(view: RequestView) -> Iterator[Finding]:
    marks, added = _all_marks(view)
    short = False
    for place in (*marks, *([added] if added is not None else [])):
        if place.ttl == "5m":
            short = True
        elif place.ttl == "1h" and short:
            where = "cache_control.ttl" if place is added else f"{place.path}.cache_control.ttl"
            yield Finding(
                "cache_control" if place is added else place.path,
                f"{where}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
                "that blocks are processed in the following order: `tools`, `system`, `messages`.",
            )


@rule(
    "cache.not-on-empty-text",
    source="https://github.com/anthropics/claude-code/issues/50082; "
    "https://github.com/vellum-ai/vellum-assistant/pull/30712",
    sentence="No mark stands on an empty text block.",
    repair="Put the mark on the last block that has text.",
)
def not_on_empty_text(view: RequestView) -> Iterator[Finding]:
    for place, block in _marked_blocks(view):
        if block.get("type") == "text" and block.get("text") == "":
            where = f"{place}.text" if place.startswith("messages.") else place
            yield Finding(place, f"{where}: cache_control cannot be set for empty text blocks")


@rule(
    "cache.not-on-thinking",
    source=f"{CACHING}; anthropic/types/thinking_block_param.py (SDK 2.14.0)",
    sentence="No mark stands on a thinking block.",
    repair="Put the mark on the block after the thinking.",
)
def not_on_thinking(view: RequestView) -> Iterator[Finding]:
    for place, block in _marked_blocks(view):
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield Finding(place, f"{place}.{block['type']}.cache_control: Extra inputs are not permitted")


def _marked_blocks(view: RequestView) -> Iterator[tuple[str, Mapping[str, Any]]]:
    system = view.body.get("system")
    for index, item in enumerate(system if isinstance(system, list) else ()):
        if isinstance(item, Mapping) and item.get("cache_control") is not None:
            yield f"system.{index}", item
    for block, _ in view.deep_blocks:
        if block.data.get("cache_control") is not None:
            yield block.path, block.data


MARKED_BLOCKS: tuple[Rule, ...] = (not_on_thinking, not_on_empty_text)
RULES: tuple[Rule, ...] = (at_most_four, automatic_ttl, ttl_order)
