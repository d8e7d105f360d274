"""A search tool with `tool_choice` "auto": the model searches for what is new, and answers the rest by itself."""

from __future__ import annotations

from typing import Any

import turnkeeper as tk
from turnkeeper import testing

INDEX = {"tk news": [{"title": "Turnkeeper 0.1", "url": "https://news.example/tk"}]}


@tk.tool(effect="read", untrusted=True)
def web_search(topic: str) -> list[dict[str, Any]]:
    """Search the web. Only for what you don't know, or what may have changed.

    Args:
        topic: A few words.
    """
    return INDEX.get(topic.lower(), [])


api = testing.MessagesAPI(
    testing.script(
        "The Seine.",  # known: no search
        testing.reply(testing.call("web_search", {"topic": "tk news"})),
        "There is a new version: Turnkeeper 0.1 (https://news.example/tk).",
        testing.reply(testing.call("web_search", {"topic": "  "})),
        "I found nothing about that.",
    )
)
agent = tk.Agent(system="Search only where you must.", tools=[web_search], tool_choice="auto", client=api)

known = agent.run_sync("Which river flows through Paris?")
print(known.text)
assert known.calls == ()

news = agent.run_sync("What is new about Turnkeeper?")
print(news.text)
assert [(call.name, call.input) for call in news.calls] == [("web_search", {"topic": "tk news"})]

nothing = agent.run_sync("Search for blanks.")
print(nothing.text)
assert "[]" in nothing.calls[0].content  # between marks: what the web says is no instruction

api.assert_all_accepted()
assert all("tool_choice" not in (request.body or {}) for request in api.requests)  # auto is the API's own default
