"""The cells of the matrix: where a process is killed, how often each effect may have happened, how all must end.

What a cell expects follows from its place: the points of an undisturbed run are in an order, and what was durable at
the point decides what may happen after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.crash.scenario import EFFECTS, Asked, Scenario
from tests.crash.stage import Backend, Step

__all__ = (
    "RECOVER",
    "RECOVER_AND_APPROVE",
    "Cell",
    "Expected",
    "Table",
    "Trace",
    "all_at_once",
    "approvals",
    "is_open",
    "killed_once",
    "nobody_tells",
    "posted",
    "renewing",
    "sent_again",
    "single",
)

Trace = Callable[[Scenario, Sequence[Step]], tuple[tuple[str, ...], ...]]
"""Holds a conversation and gives the points that each of its processes passed."""

RECOVER = ("recover", "staff", "recover", "user", "report")
"""A worker recovers, a person decides what waits, the worker goes on, the customer's program sends what is left."""
SEND_AGAIN = ("user", "staff", "user", "report")
"""Nobody recovers: the customer's program starts again and sends its messages again, with the same keys."""
POST_AGAIN = ("post", "recover", "staff", "recover", "report")
"""The messages are posted again, with the same keys; a worker does what waits."""
RECOVER_AND_APPROVE = ("recover", "staff", "recover", "user", "staff", "recover", "user", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be true at the end.

    `effects` is, by effect, how often each call of it has happened, at least and at most. `resolved` is what a person
    had to say of calls whose outcome nobody knew, None where it depends. `asked` is whether the world was asked,
    `recovered` whether a worker found the turn; None likewise. `unknown` says that nobody ever told the outcome and
    the model was told so; else the conversation is, byte for byte but for ids, the one of an undisturbed run.
    """

    effects: Mapping[str, tuple[int, int]]
    resolved: tuple[str, ...] | None = None
    asked: bool | None = None
    recovered: bool | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One place of the matrix: in `steps` a process is killed, and the last one ends the conversation."""

    column: str
    row: str
    scenario: Scenario
    steps: tuple[Step, ...]
    undisturbed: tuple[Step, ...]
    expected: Expected
    backends: tuple[Backend, ...] = ("SQLite", "PostgreSQL")


@dataclass(frozen=True, slots=True)
class Table:
    """Cells that are shown together; `cells` makes them, with a first run that finds the points."""

    title: str
    text: str
    cells: Callable[[Trace], Iterator[Cell]] = field(repr=False)


SECOND_TURN = "append turn_started, request_started: before"
"""The point from which on nothing runs beside anything else, and points have the same names in every run."""


def single(effect: str, **options: object) -> Scenario:
    """A conversation with one call."""
    return Scenario(name=effect, calls=(Asked(effect),), **options)  # type: ignore[arg-type]


def durable(points: Sequence[str], event: str) -> int:
    """How many appends and commits that hold the event have returned."""
    return sum(one.startswith(("append", "commit")) and event in one and ": after" in one for one in points)


def in_doubt(passed: Sequence[str]) -> bool:
    """The call's start is durable, its result is not."""
    return durable(passed, "call_started") > durable(passed, "call_finished")


def ends_of(effect: str, passed: Sequence[str], *, left_open: bool) -> Expected:
    """What must follow from a single kill after these points."""
    doubt, happened = in_doubt(passed), "effect: after" in passed
    runs = 2 if doubt and happened and effect in ("read", "idempotent") else 1
    say = "happened" if happened else "did not happen"
    return Expected(
        effects={effect: (runs, runs)},
        resolved=(say,) if doubt and effect == "once" else (),
        asked=doubt and effect == "reconcile",
        recovered=left_open,
    )


def is_open(passed: Sequence[str], *, before: int = 0) -> bool:
    """Whether a turn has begun and not ended, durably; `before` counts turns that were open already."""
    return before + durable(passed, "turn_started") > durable(passed, "turn_ended")


def killed_once(trace: Trace) -> Iterator[Cell]:
    """The customer's process, at every point; a worker recovers."""
    for effect in EFFECTS:
        scenario = single(effect)
        whole = (Step(("user", "report")),)
        ((*points,),) = trace(scenario, whole)
        for number, point in enumerate(points):
            passed = points[: number + 1]
            yield Cell(
                column=effect,
                row=point,
                scenario=scenario,
                steps=(Step(("user",), point), Step(RECOVER)),
                undisturbed=whole,
                expected=ends_of(effect, passed, left_open=is_open(passed)),
            )


def sent_again(trace: Trace) -> Iterator[Cell]:
    """The same without streaming and without a worker: the customer's program sends its messages again."""
    for effect in EFFECTS:
        scenario = single(effect, stream=False)
        whole = (Step(("user", "report")),)
        ((*points,),) = trace(scenario, whole)
        for number, point in enumerate(points):
            expected = ends_of(effect, points[: number + 1], left_open=False)
            yield Cell(
                column=effect,
                row=point,
                scenario=scenario,
                steps=(Step(("user",), point), Step(SEND_AGAIN)),
                undisturbed=whole,
                expected=Expected(effects=expected.effects, resolved=expected.resolved, asked=expected.asked),
            )


def approvals(who: int) -> Callable[[Trace], Iterator[Cell]]:
    """The process that asks for an approval (0), where a person decides (1), or that goes on (2) is killed."""
    columns = [("once", "approve")]
    if who > 0:
        columns += [("once", "edit"), ("once", "deny")]
    if who > 1:
        columns += [(effect, "approve") for effect in EFFECTS if effect != "once"]

    def cells(trace: Trace) -> Iterator[Cell]:
        for effect, decision in columns:
            scenario = single(effect, decision=decision)
            whole = (Step(("user",)), Step(("staff",)), Step(("recover", "user", "report")))
            points = trace(scenario, whole)[who]
            for number, point in enumerate(points):
                expected = ends_of(effect, points[: number + 1] if who == 2 else (), left_open=False)
                if decision == "deny":
                    expected = Expected(effects={effect: (0, 0)}, resolved=())
                yield Cell(
                    column=f"{effect}, {decision}",
                    row=point,
                    scenario=scenario,
                    steps=(*whole[:who], Step(whole[who].acts[:2], point), Step(RECOVER_AND_APPROVE)),
                    undisturbed=whole,
                    expected=Expected(effects=expected.effects, resolved=expected.resolved, asked=expected.asked),
                )

    return cells


def posted(who: int) -> Callable[[Trace], Iterator[Cell]]:
    """Messages through the inbox: the process that posts them (0), or the worker that works them off (1) is killed."""

    def cells(trace: Trace) -> Iterator[Cell]:
        for effect in EFFECTS if who else ("once",):
            scenario = single(effect, stream=False)
            whole = (Step(("post",)), Step(("recover", "report")))
            points = trace(scenario, whole)[who]
            for number, point in enumerate(points):
                expected = ends_of(effect, points[: number + 1] if who else (), left_open=False)
                yield Cell(
                    column=effect,
                    row=point,
                    scenario=scenario,
                    steps=(*whole[:who], Step(whole[who].acts[:1], point), Step(POST_AGAIN)),
                    undisturbed=whole,
                    expected=Expected(effects=expected.effects, resolved=expected.resolved, asked=expected.asked),
                )

    return cells


def all_at_once(trace: Trace) -> Iterator[Cell]:
    """One reply asks for everything; its calls run beside each other, so points are counted, not named."""
    calls = tuple(Asked(effect) for effect in EFFECTS)
    scenario = Scenario(name="all", calls=(*calls, Asked("transactional", "13579"), Asked("read", "13579")))
    whole = (Step(("user", "report")),)
    ((*points,),) = trace(scenario, whole)
    effects = {effect: (1, 2 if effect in ("read", "idempotent") else 1) for effect in EFFECTS}
    second = points.index(SECOND_TURN)
    kills = [*range(1, second + 1), *points[second:]]  # a run may pass a point more or less, while calls run
    for kill in kills:
        after = isinstance(kill, str)
        yield Cell(
            column="all",
            row="each point of the second turn" if after else "each point",
            scenario=scenario,
            steps=(Step(("user",), kill), Step(RECOVER)),
            undisturbed=whole,
            expected=Expected(effects=dict.fromkeys(EFFECTS, (1, 1)) if after else effects),
        )


def renewing(trace: Trace) -> Iterator[Cell]:
    """While an effect lasts so long that the lease is renewed."""
    del trace
    for effect in EFFECTS:
        scenario = single(effect, slow=True)
        for point in ("before", "not committed", "after"):
            expected = ends_of(effect, ["append call_started: after"], left_open=True)
            yield Cell(
                column=effect,
                row=f"renew during the effect: {point}",
                scenario=scenario,
                steps=(Step(("user",), f"renew during the effect: {point}"), Step(RECOVER)),
                undisturbed=(Step(("user", "report")),),
                expected=expected,
                backends=("PostgreSQL",) if effect == "transactional" else ("SQLite", "PostgreSQL"),
            )


def nobody_tells(trace: Trace) -> Iterator[Cell]:
    """The outcome stays unknown: the customer writes on before anyone has looked."""
    scenario = single("once")
    whole = (Step(("user", "report")),)
    ((*points,),) = trace(scenario, whole)
    for number, point in enumerate(points):
        passed = points[: number + 1]
        if in_doubt(passed):
            times = 1 if "effect: after" in passed else 0
            yield Cell(
                column="once",
                row=point,
                scenario=scenario,
                steps=(Step(("user",), point), Step(("recover", "moves on", "report"))),
                undisturbed=whole,
                expected=Expected(effects={"once": (times, times)}, resolved=(), recovered=True, unknown=True),
            )
