"""What is aimed at, beside what is measured: `script/bench --targets`."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

import turnkeeper as tk
from benchmarks.report import table
from turnkeeper.core.events import TurnWarned
from turnkeeper.journal import open_journal
from turnkeeper.testing import MessagesAPI, call, faults, reply, script
from turnkeeper.updates import CallFinished, CallStarted

__all__ = ("Target", "in_process", "of_durability", "of_imports", "of_requests", "run_in_process", "targets_table")

FLOOR, OURS = "httpx2_loop", "turnkeeper"
Measure = Callable[..., "dict[str, Any] | str"]
"""(client, scenario) → its result, or why there is none."""


@dataclass(frozen=True, slots=True)
class Target:
    """One line: what, how much at the most (or least), what was measured, and the same of others."""

    what: str
    aim: str
    ours: str
    met: bool
    others: str = ""


def targets_table(targets: Sequence[Target]) -> str:
    """A line for each."""
    rows = [[one.what, one.aim, one.ours, "yes" if one.met else "**no**", one.others] for one in targets]
    return table(["target", "aim", "measured", "met", "others"], rows)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def of_requests(measure: Measure, clients: Sequence[str], cycles: int) -> list[Target]:
    """Processor time per request, growth, and throughput, each in turn with the floor and the peers."""
    peers = [name for name in clients if name not in (FLOOR, OURS)]
    found: list[Target] = []
    for mode in ("sync", "async"):
        ratios = _ratios(measure, clients, cycles, {"mode": mode, "rounds": 50, "result_bytes": 100}, "per_request_ms")
        least = min((ratios[name] for name in peers if name in ratios), default=float("inf"))
        found.append(
            Target(
                f"processor time of a request, {mode}, times `{FLOOR}`",
                "1.5, and below every peer",
                f"{ratios[OURS]:.2f}",
                ratios[OURS] <= min(1.5, least),
                _others(ratios, peers),
            )
        )
    for size, rounds in ((1_000, 500), (20_000, 100)):
        found.append(_growth(measure, size, rounds))
    given = {"mode": "async", "rounds": 9, "result_bytes": 100, "conversations": 200}
    ratios = _ratios(measure, [FLOOR, OURS], cycles, given, "wall_seconds")
    share = 1 / ratios[OURS]
    found.append(
        Target(
            "200 conversations at once, 10 requests each: throughput, share of the floor's",
            "90 %",
            f"{share:.0%}",
            share >= 0.9,
        )
    )
    return found


def _ratios(
    measure: Measure, clients: Sequence[str], cycles: int, given: Mapping[str, Any], figure: str
) -> dict[str, float]:
    """How many times the floor's figure each client has: the median over cycles, each against its own floor."""
    seen: dict[str, list[float]] = {}
    for cycle in range(cycles):
        order = [*clients[cycle % len(clients) :], *clients[: cycle % len(clients)]]
        results = {name: measure(name, {"stream": False, "calls": 1, **given}) for name in order}
        floor = results[FLOOR]
        if isinstance(floor, str):
            raise SystemExit(f"{FLOOR}: {floor}")
        for name, result in results.items():
            if not isinstance(result, str):
                seen.setdefault(name, []).append(result[figure] / floor[figure])
            else:
                print(f"{name}: {result}", file=sys.stderr)
    return {name: _median(values) for name, values in seen.items()}


def _growth(measure: Measure, size: int, rounds: int) -> Target:
    """How much dearer the last request of a long conversation is than an early one, beside the floor's growth."""
    grown: dict[str, float] = {}
    for name in (FLOOR, OURS):
        given = {"mode": "async", "stream": False, "calls": 1, "rounds": rounds, "result_bytes": size}
        result = measure(name, given)
        if isinstance(result, str):
            raise SystemExit(f"{name}: {result}")
        curve = result["growth_ms"]
        grown[name] = _median(curve[-20:]) - _median(curve[5:25])
    return Target(
        f"growth of a request from 10 to {2 * rounds} messages of {size:,} bytes, ms",
        "no more than copying: below the floor's",
        f"{grown[OURS]:.2f}",
        grown[OURS] <= grown[FLOOR],
        f"`{FLOOR}` {grown[FLOOR]:.2f}",
    )


def _others(ratios: Mapping[str, float], peers: Sequence[str]) -> str:
    return ", ".join(f"`{name}` {ratios[name]:.2f}" for name in peers if name in ratios)


# ----- in this process


async def in_process() -> list[Target]:
    """What waits and what is kept: calls side by side, calls of a stream, memory, resuming."""
    found = []
    for kind in ("sync", "async"):
        seconds = _median([await _side_by_side(kind) for _ in range(3)])
        found.append(
            Target(
                f"8 calls of 0.2 s in one reply, {kind} tools, seconds",
                "0.2 and 10 %",
                f"{seconds:.3f}",
                seconds <= 0.22,
            )
        )
    bare = _median([await _streamed(0.0) for _ in range(3)])
    seconds = _median([await _streamed(0.5) for _ in range(3)])
    found.append(
        Target(
            "4 calls of 0.5 s, streamed 0.25 s apart, seconds",
            "the stream, 0.5, and 5 %",
            f"{seconds:.3f} of {bare + 0.5:.3f}",
            seconds <= (bare + 0.5) * 1.05,
        )
    )
    found.append(await _memory())
    found.append(await _resuming())
    return found


async def _side_by_side(kind: str) -> float:
    if kind == "sync":

        @tk.tool(effect="read")
        def wait(n: int) -> str:
            """Wait."""
            time.sleep(0.2)
            return str(n)
    else:

        @tk.tool(effect="read")
        async def wait(n: int) -> str:
            """Wait."""
            await anyio.sleep(0.2)
            return str(n)

    api = MessagesAPI(script(reply(*(call("wait", {"n": n}) for n in range(8))), "done"))
    agent = tk.Agent(model="claude-sonnet-5", tools=[wait], client=api)
    async with agent.open() as keeper:
        conversation = await keeper.conversation("c")
        began = ended = 0.0
        async for update in conversation.send("go"):
            if isinstance(update, CallStarted):
                began = began or time.perf_counter()
            elif isinstance(update, CallFinished):
                ended = time.perf_counter()
        return ended - began


async def _streamed(seconds: float) -> float:
    @tk.tool(effect="read")
    async def wait(n: int) -> str:
        """Wait."""
        await anyio.sleep(seconds)
        return str(n)

    said = reply(*(call("wait", {"n": n}) for n in range(4)))
    api = MessagesAPI(script(faults.slow(said, between=0.25 / 4), "done"), sleep=anyio.sleep)
    agent = tk.Agent(model="claude-sonnet-5", tools=[wait], client=api)
    began = time.perf_counter()
    await agent.run("go")
    return time.perf_counter() - began


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _memory() -> Target:
    """Conversations of 20 messages of 20 KB that nobody speaks in: how much they take beside their bytes."""

    def answer(_: Any) -> Any:
        return reply("x" * 20_000)

    agent = tk.Agent(model="claude-sonnet-5", client=MessagesAPI(answer, keep=1), cache=False)
    async with agent.open() as keeper:

        async def talk(name: str) -> Any:
            conversation = await keeper.conversation(name)
            for _ in range(10):
                await conversation.send("y" * 20_000)
            return conversation

        await talk("warm")
        before = _resident()
        kept = [await talk(f"c-{number}") for number in range(40)]
        taken = (_resident() - before) / len(kept)
    bytes_of = len(str(kept[0].messages))
    ratio = taken / bytes_of
    what = "memory of an idle conversation in memory, times its encoded bytes (journal and history)"
    return Target(what, "1.5", f"{ratio:.2f}", ratio <= 1.5)


async def _resuming() -> Target:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/journal.db"
        journal = await open_journal(url)
        agent = tk.Agent(model="claude-sonnet-5", client=MessagesAPI(lambda _: reply("ok")), cache=False)
        async with agent.open(journal) as keeper:
            conversation = await keeper.conversation("c")
            while (count := len(await journal.read("c"))) < 900:
                await conversation.send("word " * 40)
            warned = [TurnWarned(at=1.0, code="x", message="y") for _ in range(1000 - count)]
            await journal.append("c", warned, after=count)
            times = []
            for _ in range(5):
                began = time.perf_counter()
                await keeper.conversation("c")
                times.append(time.perf_counter() - began)
        await journal.aclose()
    seconds = _median(times)
    return Target("resuming a conversation of 1,000 events (SQLite), ms", "50", f"{seconds * 1e3:.0f}", seconds < 0.05)


# ----- other processes


_PEER_IMPORTS = {
    "sdk_runner": "import anthropic",
    "pydantic_ai": "import pydantic_ai, pydantic_ai.models.anthropic",
    "agno": "import agno.agent, agno.models.anthropic",
    "langchain": "import langchain.agents, langchain_anthropic",
    "openai_agents": "import agents, agents.extensions.models.litellm_model",
    "claudette": "import claudette",
    "llm": "import llm, llm_anthropic",
    "strands": "import strands, strands.models.anthropic",
}
_COUNT = (
    "import sys, time; t = time.perf_counter(); n = len(sys.modules); {};"
    " print(time.perf_counter() - t, len(sys.modules) - n)"
)


def of_imports(pythons: Mapping[str, str]) -> list[Target]:
    """Importing the package, and the command's help."""
    ours = _imported(sys.executable, "import turnkeeper")
    others = {
        name: _imported(pythons.get(name, sys.executable), statement)
        for name, statement in _PEER_IMPORTS.items()
        if name == "sdk_runner" or name in pythons
    }
    seconds = ", ".join(f"`{name}` {value[0]:.2f}" for name, value in others.items())
    modules = ", ".join(f"`{name}` {value[1]:.0f}" for name, value in others.items())
    fewest = min((value[1] for value in others.values()), default=float("inf"))
    helped = _median([_help() for _ in range(5)])
    return [
        Target("`import turnkeeper`, seconds", "0.15", f"{ours[0]:.3f}", ours[0] < 0.15, seconds),
        Target("modules that it loads", "fewer than any peer", f"{ours[1]:.0f}", ours[1] < fewest, modules),
        Target("`turnkeeper --help`, seconds", "0.25", f"{helped:.2f}", helped < 0.25),
    ]


def _imported(python: str, statement: str) -> tuple[float, float]:
    """Seconds and modules; the first of the runs writes the compiled files."""
    runs = []
    for _ in range(5):
        done = subprocess.run([python, "-c", _COUNT.format(statement)], capture_output=True, text=True, check=True)
        runs.append([float(word) for word in done.stdout.split()])
    return _median([run[0] for run in runs[1:]]), runs[-1][1]


def _help() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "turnkeeper.cli", "--help"], capture_output=True, check=True)
    return time.perf_counter() - began


def of_durability() -> list[Target]:
    """A durable append beside a bare commit of the same bytes, on each database: the worst of the sizes; its growth."""
    command = [sys.executable, "-m", "benchmarks.durability", "--turns", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    worst: dict[str, float] = {}
    grown: dict[str, float] = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or not cells[1][:1].isdigit():
            continue
        if len(cells) == 9:
            worst[cells[0]] = max(worst.get(cells[0], 0.0), float(cells[6]))
        else:
            grown[cells[0]] = float(cells[3])  # the last line has the longest history
    beside = [
        Target(f"durable step on {name}, times a bare commit", "2", f"{ratio:.2f}", ratio <= 2)
        for name, ratio in worst.items()
    ]
    return beside + [
        Target(f"durable step on {name} after 10,000 events, times after none", "1.1", f"{ratio:.2f}", ratio <= 1.1)
        for name, ratio in grown.items()
    ]


def run_in_process() -> list[Target]:
    """`in_process`, in a loop of its own."""
    return asyncio.run(in_process())
