"""The tables of the matrix, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.crash.cells import (
    Cell,
    Table,
    Trace,
    all_at_once,
    approvals,
    killed_once,
    nobody_tells,
    posted,
    renewing,
    sent_again,
)
from tests.crash.twice import (
    FIRST_KILLS,
    UNDECIDED,
    approved_and_killed_twice,
    decided_and_killed_twice,
    killed_twice,
)

__all__ = ("TABLES",)


def _table(title: str, text: str, cells: Callable[[Trace], Iterator[Cell]]) -> Table:
    return Table(title=title, text=" ".join(text.split()), cells=cells)


TABLES: tuple[Table, ...] = (
    _table(
        "A worker recovers",
        """The process of the customer's program is killed at each of its points: the reply is streamed, a call has
        its effect, a second message is answered. Then `keeper.recover()` runs in another process, a person tells the
        outcome that nobody knows, and the customer's program sends its messages again with the same keys.""",
        killed_once,
    ),
    _table(
        "The customer's program sends again",
        """The same with replies that are not streamed, and without a worker: sending the same messages with the same
        keys is what goes on with the turn.""",
        sent_again,
    ),
    _table(
        "Posted messages: the process that posts",
        """The customer's messages go through the inbox (`keeper.post`), with a key each, and a worker works them off.
        The process that posts them is killed; they are posted again.""",
        posted(0),
    ),
    _table(
        "Posted messages: the worker",
        "The worker is killed. The messages are posted again, and another worker goes on.",
        posted(1),
    ),
    _table(
        "An approval: the process that asks",
        "The call needs a person's approval. The process in which the model asks for it is killed.",
        approvals(0),
    ),
    _table(
        "An approval: the process in which a person decides",
        "A second process lists what waits, and a person approves, edits or denies. It is killed.",
        approvals(1),
    ),
    _table(
        "An approval: the process that goes on",
        "A third process recovers the turn after the decision, and is killed.",
        approvals(2),
    ),
    *(
        _table(
            f"Killed again while recovering: {first}",
            f"""The first process is killed when {first} ({point}); the one that recovers is killed at each of its own
            points; a third one ends the conversation. Calls of `read` and `idempotent` tools run up to three times, all
            others still once.""",
            killed_twice(first),
        )
        for first, point in ((first, f"`{point}`") for first, point in FIRST_KILLS.items())
    ),
    _table(
        "An approved call, killed again while recovering",
        """The call was approved, and has had its effect when the process that went on with it is killed; the one that
        recovers is killed at each of its own points; a third one ends the conversation.""",
        approved_and_killed_twice,
    ),
    _table(
        "A decision, killed twice",
        f"""Where a person decides, the process is killed before the decision is durable (`{UNDECIDED}`); the person
        decides again, and that process is killed at each of its points.""",
        decided_and_killed_twice,
    ),
    _table(
        "While the lease is renewed",
        """The effect lasts until the lease has been renewed, and the process is killed at the renewal. (A transaction
        in a SQLite file keeps every other writer out, so there is no renewal during a `transactional` call there.)""",
        renewing,
    ),
    _table(
        "Nobody tells",
        """The outcome of a `once` call is unknown, and the customer writes the next message before anyone has looked
        (`when_busy="interrupt"`). The call never runs again; the model is told that its outcome is unknown.""",
        nobody_tells,
    ),
    _table(
        "All effects in one reply",
        """Seven calls of one reply run beside each other, the two `transactional` ones one after the other. The process
        is killed at its n-th point, whatever that is in this run.""",
        all_at_once,
    ),
)
