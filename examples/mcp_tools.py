"""Tools of an MCP server: a small weather station that somebody else wrote, beside a tool of one's own."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import anyio

import turnkeeper as tk
from turnkeeper import testing

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("weather")


@server.tool()
def forecast(city: str) -> dict[str, object]:
    """Tomorrow's weather in a city."""
    return {"city": city, "weather": "rain", "degrees": 7}


@server.tool(name="alerts.subscribe")
def subscribe(phone: str) -> str:
    """Text a phone when a storm comes."""
    if not phone.startswith("+"):
        raise ValueError("a phone number begins with +")
    return f"{phone} will be told"


server.run("stdio")
'''

umbrellas: list[str] = []


@tk.tool
def pack_umbrella(bag: str) -> str:
    """Put an umbrella into a bag."""
    umbrellas.append(bag)
    return "packed"


async def main() -> None:
    """Connect, talk, and see what the file of accepted definitions holds."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "weather.py").write_text(SERVER)
        entry = {
            "command": sys.executable,
            "args": [str(Path(folder) / "weather.py")],
            # We wrote it ourselves: its answers are no stranger's, and a forecast changes nothing.
            "turnkeeper": {"effects": {"forecast": "read"}, "trusted": True},
        }
        file = Path(folder) / ".mcp.json"
        file.write_text(json.dumps({"mcpServers": {"weather": entry}}))

        async with tk.mcp.connect(file) as tools:
            print(tools.names)
            forecast, subscribe = tools.names
            assert (forecast, tools[0].effect) == ("weather__forecast", "read")
            assert subscribe.startswith("weather__alerts_subscribe_")  # the API takes no dots
            assert tools[1].effect == "once"

            api = testing.MessagesAPI(
                testing.script(
                    testing.reply(testing.call(forecast, {"city": "Köln"})),
                    testing.reply(
                        testing.call("pack_umbrella", {"bag": "red"}), testing.call(subscribe, {"phone": "7"})
                    ),
                    "It will rain; the umbrella is packed. Your phone number needs a + in front.",
                )
            )
            agent = tk.Agent(tools=[*tools, pack_umbrella], client=api)
            reply = await agent.run("Will I need an umbrella in Cologne? Text 7 if there is a storm.")

        print(reply.text)
        weather, packed, refused = reply.calls
        assert json.loads(weather.content)["weather"] == "rain"
        assert (packed.content, umbrellas) == ("packed", ["red"])
        assert refused.is_error
        api.assert_all_accepted()

        # The first definitions were recorded; a changed one would not be offered until somebody accepts it.
        recorded = json.loads((Path(folder) / ".mcp.pins.json").read_text())
        assert list(recorded["servers"]["weather"]) == ["alerts.subscribe", "forecast"]


anyio.run(main)
