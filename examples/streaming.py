"""Text, calls and retries as they happen; a reply that broke off is taken back."""

from __future__ import annotations

import anyio

import turnkeeper as tk
from turnkeeper import testing, updates


@tk.tool(effect="read")
def roll(sides: int = 6) -> int:
    """Roll a die.

    Args:
        sides: How many sides it has.
    """
    return sides


async def main() -> None:
    """Print what a screen would show."""
    broken = testing.faults.cut("You rol", after=4)
    asked = testing.reply("Rolling.", testing.call("roll", {"sides": 20}))
    api = testing.MessagesAPI(testing.script(broken, asked, "You rolled 20."))
    agent = tk.Agent(tools=[roll], client=api, sleep=api.sleep)
    screen: list[str] = []
    async with agent.open() as keeper:
        conversation = await keeper.conversation("dice")
        async for update in conversation.send("Roll a d20."):
            match update:
                case updates.TextDelta(text=text):
                    screen.append(text)
                case updates.ReplyDiscarded():
                    screen.clear()
                case updates.CallFinished(name=name, content=content):
                    screen.append(f" [{name}: {content}] ")
                case updates.TurnEnded(status=status):
                    screen.append(f" ({status})")
    print("".join(screen))
    assert "".join(screen) == "Rolling. [roll: 20] You rolled 20. (completed)"
    api.assert_all_accepted()


if __name__ == "__main__":
    anyio.run(main)
