"""A web door in a process of its own, to be killed: `python -m tests.web.standard.server JOURNAL PORT REPLIES`.

REPLIES is the model's text; with `stall` before it (`stall:TEXT`) the stream stops in its middle, for ever. Prints
`ready` when it takes requests, `stalled` when it has stopped.
"""

from __future__ import annotations

import sys

import anyio
import uvicorn

from tests.web.standard.fronts import Shop
from turnkeeper.serving import Server, listen
from turnkeeper.testing import MessagesAPI, faults, reply, script

__all__ = ("main",)


def main(journal: str, port: int, said: str) -> None:
    """Serve until killed."""
    left = 6

    async def stall(seconds: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            print("stalled", flush=True)  # noqa: T201 - for the test
            await anyio.sleep_forever()

    text = said.removeprefix("stall:")
    told = faults.slow(reply(text, chunk=4), between=1.0) if said != text else reply(text, chunk=4)
    api = MessagesAPI(script(told), sleep=stall)
    door = Shop().app(api, journal=journal, secret="the same in both processes")
    config = uvicorn.Config(door, log_level="error", ws="none")
    with listen("127.0.0.1", port) as listener:
        Server(config, started=lambda: print("ready", flush=True)).run(sockets=[listener])  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
