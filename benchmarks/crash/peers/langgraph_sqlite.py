"""LangGraph's agent with its SQLite saver, each checkpoint written before the next step (`durability="sync"`).

    pip install langchain langchain-anthropic langgraph-checkpoint-sqlite

An interrupted thread goes on with `invoke(None, …)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent  # type: ignore[import-not-found, unused-ignore]
from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found, unused-ignore]
from langchain_core.tools import StructuredTool  # type: ignore[import-not-found, unused-ignore]
from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found, unused-ignore]

from benchmarks.crash.story import DESCRIPTION, MESSAGES, MODEL, TOOL, between_messages, effect, play


def converse(base_url: str, folder: Path) -> str:
    model = ChatAnthropic(model=MODEL, api_key="key", base_url=base_url, max_tokens=1000)
    tool = StructuredTool.from_function(effect, name=TOOL, description=DESCRIPTION)
    thread: Any = {"configurable": {"thread_id": "c-1"}}
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        agent: Any = create_agent(model, [tool], checkpointer=saver)

        def is_known(text: str) -> bool:
            return any(one.content == text for one in agent.get_state(thread).values.get("messages", []))

        if agent.get_state(thread).next:
            agent.invoke(None, thread, durability="sync")
        for number, text in enumerate(MESSAGES):
            if number:
                between_messages()
            if not is_known(text):
                agent.invoke({"messages": [("user", text)]}, thread, durability="sync")
        return str(agent.get_state(thread).values["messages"][-1].text)


if __name__ == "__main__":
    play(converse, "langgraph", "langgraph-checkpoint-sqlite", "langchain", "langchain-anthropic")
