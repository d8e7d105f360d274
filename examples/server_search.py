"""The API's own web search under `tool_choice` "auto": the model searches where it must, and nothing is run here.

Run it: python examples/server_search.py
"""

from __future__ import annotations

from typing import Any

import turnkeeper as tk
from turnkeeper.testing import MessagesAPI, reply, script

SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


def searched(query: str, title: str) -> list[dict[str, Any]]:
    """What the API sends of a search: the call, and right after it what was found."""
    found = {"type": "web_search_result", "title": title, "url": "https://news.example/1", "encrypted_content": "…"}
    return [
        {"type": "server_tool_use", "name": "web_search", "input": {"query": query}},
        {"type": "web_search_tool_result", "content": [found]},
    ]


# The simulator searches nothing: a script says what the API would send. It judges the requests as the API does.
api = MessagesAPI(
    script(
        "Paris.",  # known: no search
        reply("I'll look.", *searched("turnkeeper release", "Turnkeeper 0.1"), stop_reason="pause_turn"),
        "Version 0.1 is out (https://news.example/1).",
    )
)
agent = tk.Agent(model="claude-sonnet-5", tools=[SEARCH], tool_choice="auto", client=api)

known = agent.run_sync("What is the capital of France?")
assert (known.text, known.calls) == ("Paris.", ())

# A paused turn goes on by itself, with its blocks as they came; the search is the API's, so there is no call of ours.
new = agent.run_sync("Is there a new version of Turnkeeper?")
assert new.text == "Version 0.1 is out (https://news.example/1)."
assert new.calls == ()
kinds = [block["type"] for message in new.messages for block in message["content"]]
assert kinds == ["text", "text", "server_tool_use", "web_search_tool_result", "text"]
assert all("tool_choice" not in (record.body or {}) for record in api.requests)
api.assert_all_accepted()

# Forced by name, a search of the API's keeps to the choice; an answer from memory would not.
forced = MessagesAPI(script("From memory: 0.0.", reply(*searched("turnkeeper", "Turnkeeper 0.1"), "It is 0.1.")))
sure = tk.Agent(model="claude-sonnet-5", tools=[SEARCH], tool_choice="web_search", client=forced).run_sync("Which one?")
assert sure.text == "It is 0.1."
assert sure.warnings == ("a reply was left out: it did not keep to tool_choice 'web_search'",)
forced.assert_all_accepted()
print(new.text, sure.text, sep="\n")
