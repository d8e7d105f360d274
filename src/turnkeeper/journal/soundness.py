"""Whether a stored conversation is what was written: its numbers, its hashes, its events, its line in lists."""

from __future__ import annotations

from dataclasses import fields

from turnkeeper.core.events import Event
from turnkeeper.journal.chain import event_of, problems_of
from turnkeeper.journal.errors import JournalDamagedError
from turnkeeper.journal.port import Problem, Summary
from turnkeeper.journal.store import Stored
from turnkeeper.journal.summaries import summarised

__all__ = ("all_problems",)


def all_problems(conversation_id: str, found: Stored, listed: Summary | None) -> list[Problem]:
    """Every problem; `listed` is the line in lists, which no hash covers: it is held against the events."""
    problems = list(problems_of(conversation_id, found.rows, last=found.last))
    events: list[Event] = []
    for row in found.rows:
        try:
            events.append(event_of(conversation_id, row))
        except JournalDamagedError as error:
            problems.append(Problem(seq=row.seq, kind="unreadable", message=str(error)))
    if problems or not events:
        return problems
    told = summarised(conversation_id, None, events)
    wrong = [one.name for one in fields(told) if getattr(told, one.name) != getattr(listed, one.name, None)]
    if wrong:
        text = f"its line in the list of conversations says otherwise than its events: {', '.join(wrong)}"
        problems.append(Problem(seq=None, kind="listed", message=text))
    return problems
