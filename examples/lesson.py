"""The loop as one function: a message list in, a message list out, the history first."""

from __future__ import annotations

import turnkeeper as tk
from turnkeeper import testing


@tk.tool(effect="read")
def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Its name, in any language.
    """
    return f"Sunny in {city}"


def main() -> None:
    """Ask, let the model call the tool, print the answer."""
    # Without a key: a scripted model behind the same rules as the API. Leave `client` out to talk to Claude.
    first = testing.reply("Let me look.", testing.call("get_weather", {"city": "Ærøskøbing"}))
    api = testing.MessagesAPI(testing.script(first, "It is sunny in Ærøskøbing."))
    question = {"role": "user", "content": "What is the weather in Ærøskøbing?"}

    messages = tk.run_conversation([question], tools=[get_weather], client=api)

    for message in messages:
        print(message["role"], message["content"])
    assert messages[0] is question
    assert messages[2]["content"][0]["content"] == "Sunny in Ærøskøbing"
    assert messages[3]["content"][0]["text"] == "It is sunny in Ærøskøbing."
    api.assert_all_accepted()


if __name__ == "__main__":
    main()
