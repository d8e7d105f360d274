"""The SDK's own tool runner. It keeps nothing, so the program writes the messages to a file after each turn.

pip install anthropic
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic

from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play


def converse(base_url: str, folder: Path) -> str:
    client = anthropic.Anthropic(api_key="key", base_url=base_url)
    tool = anthropic.beta_tool(effect, name=TOOL, description=DESCRIPTION)
    kept = folder / "messages.json"
    messages: list[Any] = json.loads(kept.read_text()) if kept.exists() else []
    for number, text in enumerate(MESSAGES):
        if number:
            between_messages()
        if any(one["content"] == text for one in messages):
            continue
        messages.append({"role": "user", "content": text})
        runner = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=1000, tools=[tool], messages=messages, thread=False
        )
        for reply in runner:
            messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            if results := runner.generate_tool_call_response():
                messages.append(dict(results))
        kept.write_text(json.dumps(messages))
    return "".join(block["text"] for block in messages[-1]["content"] if block["type"] == "text")


if __name__ == "__main__":
    play(converse, "anthropic")
