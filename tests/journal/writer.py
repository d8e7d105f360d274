"""A program that writes to a journal until it is done or killed: `python -m tests.journal.writer WHAT URL ARGUMENTS…`.

It prints `ready` and waits for a line, so that several begin at once.
"""

from __future__ import annotations

import sys

import anyio

from tests.journal.samples import NOON, started
from turnkeeper.core.events import TurnWarned
from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal import Journal, open_journal

__all__ = ()


async def batches(journal: Journal, conversation: str, size: str) -> None:
    """Append batches for ever; each line printed is a last number that was acknowledged."""
    last = len(await journal.read(conversation))
    while True:
        batch = [TurnWarned(code="batch", message=f"{last + n} 🙂" * 20) for n in range(int(size))]
        last = await journal.append(conversation, batch, after=last)
        print(last, flush=True)  # noqa: T201


async def contend(journal: Journal, conversation: str, name: str, count: str) -> None:
    """Append `count` events to a conversation that others write to as well; print how often another was first."""
    lost = 0
    done = 0
    while done < int(count):
        last = len(await journal.read(conversation))
        try:
            await journal.append(conversation, [TurnWarned(code=name, message=str(done))], after=last)
        except ConversationBusyError:
            lost += 1
        else:
            done += 1
    print(lost, flush=True)  # noqa: T201


async def turns(journal: Journal, name: str, conversations: str, count: str) -> None:
    """Append `count` events to each of some conversations of one's own, all at the same time."""

    async def one(conversation: str) -> None:
        last = await journal.append(conversation, [started()], after=0)
        for number in range(int(count)):
            last = await journal.append(conversation, [TurnWarned(code=name, message=str(number))], after=last)

    async with anyio.create_task_group() as group:
        for number in range(int(conversations)):
            group.start_soon(one, f"{name}-{number}")


async def leases(journal: Journal, holder: str, count: str) -> None:
    """Try to lease each of `count` conversations once; print those that were got, with the token."""
    for number in range(int(count)):
        try:
            lease = await journal.acquire(f"c-{number}", holder=holder, seconds=30, now=NOON)
        except ConversationBusyError:
            continue
        print(lease.conversation_id, lease.token, flush=True)  # noqa: T201


async def main() -> None:
    """Open, wait for the starting shot, do it, close."""
    what, url, *arguments = sys.argv[1:]
    journal = await open_journal(url)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    await {"batches": batches, "contend": contend, "turns": turns, "leases": leases}[what](journal, *arguments)  # type: ignore[operator]
    await journal.aclose()


if __name__ == "__main__":
    anyio.run(main)
