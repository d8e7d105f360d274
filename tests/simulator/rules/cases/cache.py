"""Cases of cache marks."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import Case, ask, assistant, call, image, refused, result, taken, thinking, tool, user

__all__ = ("CASES",)

_MARK = {"type": "ephemeral"}
_HOUR = {"type": "ephemeral", "ttl": "1h"}
_ORDER = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are "
    "processed in the following order: `tools`, `system`, `messages`."
)


def text(value: str = "да", mark: Any = None) -> dict[str, Any]:
    return {"type": "text", "text": value, **({} if mark is None else {"cache_control": mark})}


def marked(count: int, mark: Any = None, **members: Any) -> dict[str, Any]:
    """A request with marks on a tool, on system, and on as many texts as are left."""
    mark = mark or _MARK
    texts = [text(f"сообщение {number}", mark) for number in range(count - 2)]
    body = ask(user([*texts, text()]), tools=[tool(cache_control=mark)], system=[text("роль", mark)])
    return {**body, **members}


CASES: tuple[Case, ...] = (
    taken("cache.at-most-four", "four", marked(4)),
    taken("cache.at-most-four", "three and the automatic one", marked(3, cache_control=_MARK)),
    taken(
        "cache.at-most-four",
        "four and an automatic one on the same block",
        ask(user([text("а", _MARK), text("б", _MARK), text("в", _MARK), text("г", _MARK)]), cache_control=_MARK),
    ),
    refused(
        "cache.at-most-four",
        "five",
        marked(5),
        "messages.0.content.2",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    refused(
        "cache.at-most-four",
        "the fifth inside a tool result",
        ask(
            user([text("а", _MARK), text("б", _MARK)]),
            assistant([call("a", cache_control=_MARK)]),
            user([result("a", [text("в", _MARK)], cache_control=_MARK)]),
            tools=[tool()],
        ),
        "messages.2.content.0",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    refused(
        "cache.at-most-four",
        "four and the automatic one",
        marked(4, cache_control=_MARK),
        "messages.0.content.2",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    taken("cache.automatic-ttl", "the same lifetime", ask(user([text("а", _HOUR)]), cache_control=_HOUR)),
    taken(
        "cache.automatic-ttl",
        "walks back past an empty last block",
        ask(user([text("а", _MARK)]), assistant([thinking(), text("б")]), user([text("в")]), cache_control=_MARK),
    ),
    refused(
        "cache.automatic-ttl",
        "another lifetime",
        ask(user([text("а", _HOUR)]), cache_control=_MARK),
        "cache_control",
        "cache_control.ttl: the top-level ttl='5m' conflicts with the ttl='1h' cache_control on messages.0.content.0",
    ),
    taken(
        "cache.ttl-order",
        "hours first",
        ask(user([text("а", _MARK)]), tools=[tool(cache_control=_HOUR)], system=[text("роль", _HOUR)]),
    ),
    refused(
        "cache.ttl-order",
        "an hour after five minutes",
        ask(user([text("а", _HOUR)]), tools=[tool(cache_control=_MARK)]),
        "messages.0.content.0",
        f"messages.0.content.0.cache_control.ttl: {_ORDER}",
    ),
    refused(
        "cache.ttl-order",
        "an automatic hour after five minutes",
        ask(user([text("а", {"type": "ephemeral", "ttl": "5m"}), text()]), cache_control=_HOUR),
        "cache_control",
        f"cache_control.ttl: {_ORDER}",
    ),
    taken("cache.not-on-empty-text", "on the text before", ask(user([text("да", _MARK), image()]))),
    refused(
        "cache.not-on-empty-text",
        "in a message, though an empty text is refused anyway",
        ask(user([text("", _MARK), text("да")])),
        "messages.0.content.0",
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    refused(
        "cache.not-on-empty-text",
        "in system",
        ask(system=[text("", _MARK)]),
        "system.0",
        "system.0: cache_control cannot be set for empty text blocks",
    ),
    taken(
        "cache.not-on-thinking", "on the block after", ask(user(), assistant([thinking(), text("да", _MARK)]), user())
    ),
    refused(
        "cache.not-on-thinking",
        "on it",
        ask(user(), assistant([thinking(cache_control=_MARK), text()]), user()),
        "messages.1.content.0",
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
)
