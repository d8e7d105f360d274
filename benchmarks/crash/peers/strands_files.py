"""strands with its file session manager, which writes each message down as it comes.

    pip install 'strands-agents[anthropic]'

An agent whose last message has no answer goes on when it is called without a prompt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strands import Agent, tool  # type: ignore[import-not-found, unused-ignore]
from strands.models.anthropic import AnthropicModel  # type: ignore[import-not-found, unused-ignore]
from strands.session.file_session_manager import FileSessionManager  # type: ignore[import-not-found, unused-ignore]

from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play


def converse(base_url: str, folder: Path) -> str:
    options = {"api_key": "key", "base_url": base_url}
    agent: Any = Agent(
        model=AnthropicModel(client_args=options, model_id=MODEL, max_tokens=1000),
        tools=[tool(effect, name=TOOL, description=DESCRIPTION)],
        session_manager=FileSessionManager(session_id="c-1", storage_dir=str(folder / "sessions")),
        callback_handler=None,
    )

    def is_known(text: str) -> bool:
        return any({"text": text} in message["content"] for message in agent.messages)

    def is_answered() -> bool:
        last = agent.messages[-1] if agent.messages else {"role": "assistant", "content": []}
        return last["role"] == "assistant" and not any("toolUse" in block for block in last["content"])

    if not is_answered():
        agent()
    for number, text in enumerate(MESSAGES):
        if number:
            between_messages()
        if not is_known(text):
            agent(text)
    return "".join(block.get("text", "") for block in agent.messages[-1]["content"])


if __name__ == "__main__":
    play(converse, "strands-agents", "anthropic")
