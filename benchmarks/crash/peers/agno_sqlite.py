"""agno's agent with its SQLite database and the history in the context.

    pip install agno anthropic 'sqlalchemy[asyncio]'

A run is stored when it has ended, so there is nothing to go on with: a message that is in no run is sent again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agno.agent import Agent  # type: ignore[import-not-found, unused-ignore]
from agno.db.sqlite import SqliteDb  # type: ignore[import-not-found, unused-ignore]
from agno.models.anthropic import Claude  # type: ignore[import-not-found, unused-ignore]
from agno.tools import Function  # type: ignore[import-not-found, unused-ignore]

from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play


def converse(base_url: str, folder: Path) -> str:
    agent: Any = Agent(
        model=Claude(id=MODEL, api_key="key", client_params={"base_url": base_url}),
        tools=[Function(name=TOOL, description=DESCRIPTION, entrypoint=effect)],
        db=SqliteDb(db_file=str(folder / "agno.db")),
        session_id="c-1",
        add_history_to_context=True,
        telemetry=False,
    )

    def is_known(text: str) -> bool:
        session = agent.get_session(session_id="c-1")
        return session is not None and any(message.content == text for message in session.get_messages())

    answer = ""
    for number, text in enumerate(MESSAGES):
        if number:
            between_messages()
        if not is_known(text):
            answer = str(agent.run(text).content)
    return answer


if __name__ == "__main__":
    play(converse, "agno", "anthropic")
