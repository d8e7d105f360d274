"""Exit codes, and what each end of a turn means for them."""

from __future__ import annotations

from enum import IntEnum

from turnkeeper.types import TurnStatus

__all__ = ("EXIT_FOR", "Exit")


class Exit(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    WAITS_FOR_PERSON = 3
    LIMIT_REACHED = 4
    REFUSED = 5
    INTERRUPTED = 130


EXIT_FOR: dict[TurnStatus, Exit] = {
    TurnStatus.COMPLETED: Exit.DONE,
    TurnStatus.AWAITING_APPROVAL: Exit.WAITS_FOR_PERSON,
    TurnStatus.AWAITING_RESOLUTION: Exit.WAITS_FOR_PERSON,
    TurnStatus.REFUSED: Exit.REFUSED,
    TurnStatus.TRUNCATED: Exit.LIMIT_REACHED,
    TurnStatus.LIMIT_REACHED: Exit.LIMIT_REACHED,
    TurnStatus.CANCELLED: Exit.INTERRUPTED,
    TurnStatus.FAILED: Exit.ERROR,
}
"""One row per status; a truncated answer met the limit on its length."""
