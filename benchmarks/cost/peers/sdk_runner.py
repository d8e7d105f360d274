"""The SDK's own tool runner; the program keeps the messages.

pip install anthropic
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic

from benchmarks.cost.story import MAX_TOKENS, MESSAGES, MODEL, SYSTEM, TOOLS, play


def converse(base_url: str) -> Iterator[str]:
    client = anthropic.Anthropic(api_key="key", base_url=base_url)
    tools = [anthropic.beta_tool(function) for function in TOOLS]
    messages: list[Any] = []
    for text in MESSAGES:
        messages.append({"role": "user", "content": text})
        runner = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=MAX_TOKENS, system=SYSTEM, tools=tools, messages=messages
        )
        said = ""
        for reply in runner:
            messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            if results := runner.generate_tool_call_response():
                messages.append(dict(results))
            said = "".join(block.text for block in reply.content if block.type == "text")
        yield said


if __name__ == "__main__":
    play(converse, "anthropic")
