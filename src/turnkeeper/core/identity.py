"""Who may go on with a conversation, and how a change of who is talking is called. Pure.

Levels grow: anonymous < claimed < confirmed < signed_in < step_up. From `confirmed` on, somebody has proven who they
are. A conversation that was held by somebody who had proven it holds what only they may know: it goes on with nobody
else, and with them only while they still have proof.
"""

from __future__ import annotations

from turnkeeper.types import LEVELS, Principal

__all__ = ("PROVEN", "change_word", "is_proven", "may_speak", "reaches", "same_person")

PROVEN = "confirmed"
"""The weakest level at which somebody has proven who they are."""


def reaches(who: Principal | None, required: str | None) -> bool:
    """Whether the principal's level is the required one or a stronger; staff is not asked for levels."""
    if required is None:
        return True
    if who is None:
        return False
    if who.kind == "staff":
        return True
    return who.level in LEVELS and LEVELS.index(who.level) >= LEVELS.index(required)


def is_proven(who: Principal | None) -> bool:
    """Whether somebody has proven who they are; staff comes from the application's own door, and has no levels."""
    return who is not None and who.kind != "staff" and reaches(who, PROVEN)


def same_person(one: Principal, other: Principal) -> bool:
    """Whether two principals are one person, whatever their levels."""
    return (one.kind, one.id) == (other.kind, other.id)


def may_speak(who: Principal | None, holder: Principal | None) -> bool:
    """Whether `who` may begin a turn in a conversation that `holder` held with proof (None: nobody did).

    Without a principal it is the application itself that speaks.
    """
    if who is None or holder is None:
        return True
    return same_person(who, holder) and is_proven(who)


def change_word(before: Principal | None, after: Principal) -> str:
    """`raised`, `lowered` or `another`. Whoever proves for the first time who they are is raised by it."""
    if before is not None and same_person(before, after):
        return "raised" if _rank(after) > _rank(before) else "lowered"
    if before is None or is_proven(before) == is_proven(after):
        return "another"
    return "raised" if is_proven(after) else "lowered"


def _rank(who: Principal) -> int:
    return LEVELS.index(who.level) if who.level in LEVELS else -1
