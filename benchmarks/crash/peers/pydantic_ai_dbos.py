"""pydantic-ai's agent inside a DBOS workflow per message, its tool a DBOS step, both on SQLite.

    pip install 'pydantic-ai-slim[anthropic]' dbos

`DBOS.launch()` recovers the workflows that a process left unfinished; a workflow's id is that of its message.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, Tool  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.durable_exec.dbos import DBOSDurability  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.messages import ModelMessagesTypeAdapter  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.providers.anthropic import AnthropicProvider  # type: ignore[import-not-found, unused-ignore]

from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play


def converse(base_url: str, folder: Path) -> str:
    return asyncio.run(_converse(base_url, folder))


async def _converse(base_url: str, folder: Path) -> str:
    config: Any = {
        "name": "crash",
        "system_database_url": f"sqlite:///{folder}/dbos.db",
        "application_version": "1",
    }
    DBOS(config=config)
    step = DBOS.step()(effect)
    agent: Any = Agent(
        AnthropicModel(MODEL, provider=AnthropicProvider(api_key="key", base_url=base_url)),
        name="desk",
        tools=[Tool(step, name=TOOL, description=DESCRIPTION)],
        capabilities=[DBOSDurability()],
    )

    async def turn(text: str, history: str) -> list[str]:
        before = ModelMessagesTypeAdapter.validate_json(history)
        result = await agent.run(text, message_history=before)
        return [str(result.output), ModelMessagesTypeAdapter.dump_json(result.all_messages()).decode()]

    workflow: Any = DBOS.workflow()(turn)
    DBOS.launch()
    answer, history = "", "[]"
    for number, text in enumerate(MESSAGES):
        if number:
            between_messages()
        with SetWorkflowID(f"message-{number}"):
            answer, history = await workflow(text, history)
    DBOS.destroy()
    return answer


if __name__ == "__main__":
    play(converse, "pydantic-ai-slim", "dbos", "anthropic")
