"""A conversation in a SQLite file: interrupted in the middle of a call, and finished by another process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio

import turnkeeper as tk
from turnkeeper import testing

steps: list[str] = []


@tk.tool(effect="idempotent")
async def file_report(ctx: tk.ToolContext, title: str) -> str:
    """File a report. Filing it twice with the same key is the same as once.

    Args:
        title: What it is about.
    """
    steps.append(ctx.key)
    if len(steps) == 1:
        raise_alarm.set()
        await anyio.sleep_forever()  # the program is stopped here
    return f"filed: {title}"


async def main() -> None:
    """Start a turn, stop it, open the journal again, resume."""
    first = testing.reply(testing.call("file_report", {"title": "Wasserschaden"}))
    api = testing.MessagesAPI(testing.script(first, "Your report is filed."))
    agent = tk.Agent(tools=[file_report], client=api)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'journal.db'}"

        async with agent.open(url) as keeper, anyio.create_task_group() as group:
            conversation = await keeper.conversation("c-1")

            async def run() -> None:
                await conversation.send("File a report about the water damage.")

            group.start_soon(run)
            await raise_alarm.wait()
            group.cancel_scope.cancel()

        async with agent.open(url) as keeper:
            conversation = await keeper.conversation("c-1")
            assert conversation.is_open
            reply = await conversation.resume()

    print(reply.text)
    assert reply.text == "Your report is filed."
    assert len(steps) == 2
    assert len(set(steps)) == 1  # the key is the same at every attempt
    api.assert_all_accepted()


raise_alarm = anyio.Event()

if __name__ == "__main__":
    anyio.run(main)
