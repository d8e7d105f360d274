"""One measurement in a process of its own: a client holds a conversation, and its processor time is taken.

    python -m benchmarks.measure CLIENT SCENARIO     prints one JSON object

SCENARIO is a JSON object of `Scenario`'s fields. A short conversation that the server checks goes before, so that
imports, connections and caches are warm and a client that sends something wrong is not measured at all.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import itertools
import json
import os
import resource
import sys
import time
from dataclasses import replace
from typing import Any

from benchmarks.clients import Client, load
from benchmarks.scenario import FINAL, PROMPT, Scenario

__all__ = ("main",)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def verified(text: str, scenario: Scenario) -> None:
    if FINAL not in text:  # some libraries join the texts of all rounds
        raise SystemExit(f"the conversation ended with {text!r}")
    if len(scenario.marks) != scenario.rounds * scenario.calls:
        raise SystemExit(f"{len(scenario.marks)} tool calls ran instead of {scenario.rounds * scenario.calls}")


def begin(scenario: Scenario) -> float:
    """Starts the clock after what the warm-up left behind is gone."""
    gc.collect()
    scenario.marks.clear()
    return processor_seconds()


def measured(kind: type[Client], warm_up: Scenario, scenario: Scenario) -> float:
    verified(kind(warm_up).converse(PROMPT), warm_up)
    client = kind(scenario)
    start = begin(scenario)
    text = client.converse(PROMPT)
    seconds = processor_seconds() - start
    verified(text, scenario)
    return seconds


async def measured_async(kind: type[Client], warm_up: Scenario, scenario: Scenario, conversations: int) -> float:
    verified(await kind(warm_up).converse_async(PROMPT), warm_up)
    client = kind(scenario)
    start = begin(scenario)
    texts = await asyncio.gather(*(client.converse_async(PROMPT) for _ in range(conversations)))
    seconds = processor_seconds() - start
    if conversations == 1:
        verified(texts[0], scenario)
    elif not all(FINAL in text for text in texts):
        raise SystemExit("a conversation went wrong")
    return seconds


def main(name: str, given: dict[str, Any]) -> None:
    """Takes the measurement and prints it."""
    cpu = given.pop("cpu")
    conversations = given.pop("conversations", 1)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    scenario = Scenario(**given)
    warm_up = replace(scenario, rounds=3, check=True, marks=[])
    kind = load(name)
    began = time.perf_counter()
    if scenario.mode == "async":
        seconds = asyncio.run(measured_async(kind, warm_up, scenario, conversations))
    else:
        seconds = measured(kind, warm_up, scenario)
    rounds = scenario.marks[:: scenario.calls]
    result = {
        "seconds": seconds,
        "wall_seconds": time.perf_counter() - began,
        "per_request_ms": seconds * 1000 / scenario.requests / conversations,
        # From one tool call to the next is exactly one request, with everything that goes with it.
        "growth_ms": [(after - before) * 1000 for before, after in itertools.pairwise(rounds)],
        "versions": {package: importlib.metadata.version(package) for package in kind.packages},
    }
    print(json.dumps(result), flush=True)
    # Whatever a library does on the way out is not part of the measurement.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
