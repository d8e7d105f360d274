"""Pydantic AI's agent; its message history is handed on from turn to turn.

pip install "pydantic-ai-slim[anthropic]"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_ai import Agent  # type: ignore[import-not-found]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found]
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found]

from benchmarks.cost.story import MAX_TOKENS, MESSAGES, MODEL, SYSTEM, TOOLS, play


def converse(base_url: str) -> Iterator[str]:
    model = AnthropicModel(MODEL, provider=AnthropicProvider(api_key="key", base_url=base_url))
    agent = Agent(model, system_prompt=SYSTEM, tools=TOOLS, model_settings={"max_tokens": MAX_TOKENS})
    history: Any = None
    for text in MESSAGES:
        result = agent.run_sync(text, message_history=history)
        history = result.all_messages()
        yield str(result.output)


if __name__ == "__main__":
    play(converse, "pydantic-ai-slim", "anthropic")
