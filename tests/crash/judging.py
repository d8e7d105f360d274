"""Whether a conversation ended as its cell demands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.crash.cells import Cell, Expected
from tests.crash.scenario import MESSAGES, TOOLS, Scenario
from tests.crash.stage import Held

__all__ = ("faults_of", "outcome_of")

KILLED = -9
UNKNOWN = "Outcome unknown:"


def faults_of(cell: Cell, held: Held, undisturbed: Held) -> list[str]:
    """What is wrong, in words; an empty list if all is as it must be."""
    faults = list(_broken(cell, held))
    if faults:
        return faults
    report, expected = held.report, cell.expected
    faults += [f"the API refused: {refusal}" for refusal in held.refused]
    faults += [f"the journal is damaged: {problem}" for problem in report["problems"]]
    if report["status"] != "completed":
        faults.append(f"ends {report['status']}")
    faults += _unsound(report["messages"])
    if expected.unknown:
        faults += _not_told(report["messages"])
    elif _without_ids(report["messages"]) != _without_ids(undisturbed.report["messages"]):
        faults.append(f"another conversation than undisturbed: {report['messages']}")
    for effect, (least, most) in expected.effects.items():
        faults += _miscounted(effect, cell.scenario, held, least, most)
    faults += _another_way(cell, held, expected)
    return faults


def _broken(cell: Cell, held: Held) -> Iterator[str]:
    for step, ended in zip(cell.steps, held.processes, strict=True):
        if step.kill is not None and (ended.code != KILLED or ended.died_at is None):
            yield f"was to die at {step.kill!r} and ended with {ended.code}: {ended.errors[-1500:]}"
        elif step.kill is None and ended.code != 0:
            yield f"{', '.join(step.acts)} ended with {ended.code}: {ended.errors[-3000:]}"


def _unsound(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Each of the customer's messages is there once, in order; each call has one result, in the message after it."""
    said = [
        block["text"]
        for message in messages
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text"
    ]
    if tuple(said) != MESSAGES:
        yield f"the customer's messages are {said}"
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            after = messages[number + 1]["content"] if number + 1 < len(messages) else []
            results = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
            if calls != results:
                yield f"the calls {calls} have the results {results}"


def _not_told(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    results = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
    if not all(block.get("is_error") and block["content"].startswith(UNKNOWN) for block in results):
        yield f"the model was told {results}"


def _without_ids(messages: Sequence[dict[str, Any]]) -> str:
    """The messages as text, with the ids of calls numbered in their order."""
    text = json.dumps(messages, ensure_ascii=False)
    ids = [b["id"] for m in messages if m["role"] == "assistant" for b in m["content"] if b["type"] == "tool_use"]
    for number, one in enumerate(ids):
        text = text.replace(json.dumps(one), f'"call {number}"')
    return text


def _times(effect: str, held: Held) -> Counter[str]:
    """How often each call of an effect has happened, by its key."""
    if effect == "transactional":
        return Counter(key for _, key, _ in held.refunds)
    return Counter(entry.key for entry in held.world if entry.kind == "effect" and entry.tool == TOOLS[effect])


def _miscounted(effect: str, scenario: Scenario, held: Held, least: int, most: int) -> Iterator[str]:
    times = _times(effect, held)
    calls = [one for one in scenario.calls if one.effect == effect]
    if len(times) != (len(calls) if most else 0) and not (least == 0 and not times):
        yield f"{effect}: {len(calls)} call(s) with the keys {sorted(times)}"
    for key, count in times.items():
        if not least <= count <= most:
            yield f"{effect}: happened {count} times under the key {key}, not {least} to {most}"


def _another_way(cell: Cell, held: Held, expected: Expected) -> Iterator[str]:
    """It ended well, though not in the way that it had to."""
    report = held.report
    resolved = tuple(report.get("resolved", ()))
    if expected.resolved is not None and resolved != expected.resolved:
        yield f"a person had to say {resolved}, not {expected.resolved}"
    if expected.asked is not None and _asked(held) != expected.asked:
        yield "the world was asked" if not expected.asked else "the world was not asked"
    if expected.recovered is not None and bool(report.get("recovered")) != expected.recovered:
        yield f"recovered {report.get('recovered')}"
    decisions = report["events"].count("approval_decided")
    if decisions != (cell.scenario.decision is not None):
        yield f"{decisions} decisions are written down"


def _asked(held: Held) -> bool:
    return any(entry.kind == "question" for entry in held.world)


def outcome_of(cell: Cell, held: Held) -> str:
    """The outcome in a few words: how often each effect happened, and who was asked."""
    if any(ended.code != (KILLED if step.kill else 0) for step, ended in zip(cell.steps, held.processes, strict=True)):
        return "broken"
    counts = {effect: _times(effect, held) for effect in cell.expected.effects}
    if len(counts) > 1:
        return ", ".join(f"{effect} {_range(times)}" for effect, times in counts.items())
    ((times),) = counts.values()
    words = [str(sum(times.values()))]
    if _asked(held):
        words.append("the world was asked")
    words += [f"a person said: {said}" for said in held.report.get("resolved", ())]
    return "; ".join(words)


def _range(times: Counter[str]) -> str:
    found = sorted(set(times.values())) or [0]
    return "–".join(map(str, dict.fromkeys((found[0], found[-1]))))
