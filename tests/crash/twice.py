"""Cells in which the process that recovers, or that decides again, is killed as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.crash.cells import RECOVER, RECOVER_AND_APPROVE, Cell, Expected, Trace, is_open, single
from tests.crash.scenario import EFFECTS, Decision
from tests.crash.stage import Step

__all__ = ("FIRST_KILLS", "UNDECIDED", "approved_and_killed_twice", "decided_and_killed_twice", "killed_twice")

STARTED, HAPPENED, WITH_THE_MODEL = (
    "the call's start is durable",
    "its effect has happened",
    "its result is with the model",
)
FIRST_KILLS = {
    STARTED: "append reply_received, call_started: after",
    HAPPENED: "effect: after",
    WITH_THE_MODEL: "request 2: answer begins",
}
UNDECIDED = "append approval_decided, turn_woken: not committed"
DECISIONS: tuple[Decision, ...] = ("approve", "edit", "deny")


def came_to(passed: Sequence[str], before: str = "") -> str:
    """What is durable of the call last: that it started, that it finished, or what a person said of it."""
    for point in passed:
        if point.startswith(("append", "commit")) and ": after" in point:
            found = [one for one in ("call_started", "call_finished", "call_resolved") if one in point]
            before = found[0] if found else before
    return before


def ends_after_two(effect: str, first: str, passed: Sequence[str]) -> Expected:
    """What must follow from a first kill (of `FIRST_KILLS`) and a second one after these points of the recovery."""
    begun = "call_finished" if first == WITH_THE_MODEL else "call_started"
    last = came_to(passed, begun)
    happened = (first != STARTED) + sum(one.startswith("effect: after") for one in passed)
    runs = happened + (last == "call_started") if effect in ("read", "idempotent") else 1
    say = "happened" if happened else "did not happen"
    return Expected(
        effects={effect: (runs, runs)},
        resolved=(say,) if effect == "once" and last == "call_started" else (),
        asked=effect == "reconcile" and begun == "call_started",
        recovered=is_open(passed, before=1),
    )


def killed_twice(first: str) -> Callable[[Trace], Iterator[Cell]]:
    """The recovering process is killed as well; a third one ends the conversation."""

    def cells(trace: Trace) -> Iterator[Cell]:
        for effect in EFFECTS:
            scenario = single(effect, stream=False)
            killed = Step(("user",), FIRST_KILLS[first])
            whole = (Step(("user", "report")),)
            _, points = trace(scenario, (killed, Step(RECOVER[:3])))
            for number, point in enumerate(points):
                yield Cell(
                    column=effect,
                    row=point,
                    scenario=scenario,
                    steps=(killed, Step(RECOVER[:3], point), Step(RECOVER)),
                    undisturbed=whole,
                    expected=ends_after_two(effect, first, points[: number + 1]),
                )

    return cells


def approved_and_killed_twice(trace: Trace) -> Iterator[Cell]:
    """An approved call has had its effect when its process is killed, and so is the one that recovers."""
    for effect in EFFECTS:
        scenario = single(effect, decision="approve", stream=False)
        whole = (Step(("user",)), Step(("staff",)), Step(("recover", "user", "report")))
        killed = (*whole[:2], Step(("recover", "user"), FIRST_KILLS[HAPPENED]))
        *_, points = trace(scenario, (*killed, Step(RECOVER[:3])))
        for number, point in enumerate(points):
            yield Cell(
                column=f"{effect}, approve",
                row=point,
                scenario=scenario,
                steps=(*killed, Step(RECOVER[:3], point), Step(RECOVER)),
                undisturbed=whole,
                expected=ends_after_two(effect, HAPPENED, points[: number + 1]),
            )


def decided_and_killed_twice(trace: Trace) -> Iterator[Cell]:
    """Where a person decides the process is killed before it has committed, and where they decide again as well."""
    for decision in DECISIONS:
        scenario = single("once", decision=decision)
        whole = (Step(("user",)), Step(("staff",)), Step(("recover", "user", "report")))
        killed = (whole[0], Step(("staff",), UNDECIDED))
        *_, points = trace(scenario, (*killed, whole[1]))
        times = 0 if decision == "deny" else 1
        for point in points:
            yield Cell(
                column=f"once, {decision}",
                row=point,
                scenario=scenario,
                steps=(*killed, Step(("staff",), point), Step(RECOVER_AND_APPROVE)),
                undisturbed=whole,
                expected=Expected(effects={"once": (times, times)}, resolved=(), asked=False),
            )
