"""Runs the programs of `benchmarks/crash/peers`, kills each at each point, starts it again, and prints what came of it.

python -m benchmarks.crash turnkeeper_once=python langgraph_sqlite=/tmp/langgraph/bin/python …
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.crash.story import MESSAGES, TOOL
from benchmarks.pages import program, write
from turnkeeper.testing import MessagesAPI, call, reply

__all__ = ("main",)

ROOT = Path(__file__).resolve().parents[2]
PEERS = (
    "turnkeeper_once",
    "turnkeeper_transactional",
    "langgraph_sqlite",
    "pydantic_ai_dbos",
    "strands_files",
    "agno_sqlite",
    "sdk_runner",
)
POINTS = (
    "the first request is with the API",
    "before the effect",
    "after the effect",
    "the result is with the API",
    "between the messages",
    "the second message is with the API",
)
REQUESTS = {POINTS[0]: 1, POINTS[3]: 2, POINTS[5]: 3}
"""Points at which the API kills the program, by the number of the request that it holds then."""
PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Ending:
    """How a conversation came out: effects, and what is wrong with it in a few words (empty: nothing)."""

    effects: int
    trouble: str

    def __str__(self) -> str:
        return f"{self.effects}" + (f", {self.trouble}" if self.trouble else "")


class Model:
    """Answers as the story wants it, and kills the program when the request of that number has come."""

    def __init__(self, number: int | None) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._requests = 0
        self.program: subprocess.Popen[str] | None = None

    def __call__(self, request: dict[str, Any]) -> Any:
        with self._lock:
            self._requests += 1
            if self._requests == self._number and self.program is not None:
                self.program.kill()
        content = request["messages"][-1]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if any(block["type"] == "tool_result" for block in blocks):
            return reply("You have mail.")
        if any(block.get("text") == MESSAGES[0] for block in blocks):
            return reply("I will.", call(TOOL, {"order": "24601"}))
        return reply("You are welcome.")


def start(peer: str, python: str, url: str, folder: Path, point: str | None) -> subprocess.Popen[str]:
    """The program, in the interpreter of its own environment."""
    return subprocess.Popen(
        [python, "-m", f"benchmarks.crash.peers.{peer}", url, str(folder)],
        cwd=ROOT,
        env={**os.environ, "CRASH_AT": point or "", "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def hold(peer: str, python: str, point: str | None) -> tuple[Ending, dict[str, str]]:
    """Run the program, kill it at the point, run it again to its end. Gives the versions that it names, too."""
    model = Model(REQUESTS.get(point or ""))
    api = MessagesAPI(model)
    with tempfile.TemporaryDirectory() as name, api.listen() as url:
        folder = Path(name)
        if point is not None:
            with start(peer, python, url, folder, point) as program:
                model.program = program
                _, errors = program.communicate(timeout=PATIENCE)
                model.program = None
            if program.returncode != -9:
                raise SystemExit(f"{peer} was not killed {point}: {program.returncode}\n{errors[-3000:]}")
        with start(peer, python, url, folder, None) as program:
            output, errors = program.communicate(timeout=PATIENCE)
        ledger = folder / "ledger"
        effects = len(ledger.read_text().splitlines()) if ledger.exists() else 0
    if program.returncode:
        said = (errors.strip().splitlines() or ["nothing"])[-1]
        print(f"{peer}, {point}:\n{errors[-3000:]}", file=sys.stderr)
        return Ending(effects, f"the program fails: {said[:100]}"), {}
    told = json.loads(output.strip().splitlines()[-1])
    return Ending(effects, trouble_in(api, told["answer"])), told["versions"]


def trouble_in(api: MessagesAPI, answer: str) -> str:
    """What is wrong with the conversation as the API saw it last, in a few words."""
    if api.refusals:
        refusal = api.refusals[0].refusal
        assert refusal is not None
        return f"the API refuses: {refusal.rule}"
    last = api.requests[-1].body
    assert last is not None
    blocks = [(message["role"], block) for message in last["messages"] for block in _blocks(message["content"])]
    said = collections.Counter(block["text"] for role, block in blocks if role == "user" and block["type"] == "text")
    wrong = [f"message {n} is there {said[text]} times" for n, text in enumerate(MESSAGES, 1) if said[text] != 1]
    results = [block for _, block in blocks if block["type"] == "tool_result"]
    if not results:
        wrong.append("the call is forgotten")
    elif any(block.get("is_error") for block in results):
        wrong.append("the model is told that the call failed")
    if answer != "You are welcome.":
        wrong.append(f"the answer is {answer!r}")
    return "; ".join(wrong)


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def table(endings: dict[str, dict[str, Ending]]) -> str:
    """A row for each program, a column for each point."""
    lines = [f"| program | {' | '.join(POINTS)} |", "|---|" + "---|" * len(POINTS)]
    lines += [f"| `{peer}` | {' | '.join(str(found[point]) for point in POINTS)} |" for peer, found in endings.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    parser.add_argument("programs", nargs="+", type=lambda text: program(PEERS, text), metavar="PROGRAM=PYTHON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page, too")
    options = parser.parse_args(arguments)
    endings: dict[str, dict[str, Ending]] = {}
    lines: list[str] = []
    for peer, python in options.programs:
        undisturbed, versions = hold(peer, python, None)
        if str(undisturbed) != "1":
            print(f"{peer}, undisturbed: {undisturbed}", file=sys.stderr)
            return 1
        endings[peer] = {}
        for point in POINTS:
            endings[peer][point], _ = hold(peer, python, point)
            print(f"{peer}, killed {point}: {endings[peer][point]}", file=sys.stderr, flush=True)
        lines.append(f"- `{peer}`: {', '.join(f'{name} {number}' for name, number in versions.items())}")
    text = "\n\n".join([table(endings), "\n".join(lines)])
    print(text)
    if options.write:
        write(options.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
