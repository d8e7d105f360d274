"""Holds the story with each library against the simulator and prints its ledger: `python -m benchmarks.cost`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.cost.story import MESSAGES, MODEL
from benchmarks.pages import program, write
from turnkeeper.testing import MessagesAPI, call, reply

__all__ = ("main",)

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("turnkeeper_agent", "turnkeeper_without_caching", "sdk_runner", "pydantic_ai_agent", "langchain_agent")
PATIENCE = 300
ANSWER = "Your order is in transit with DHL and arrives on Thursday; the address can't be changed any more. " * 3


def answer(request: Any) -> Any:
    """One call for each message, then an answer: the same for everybody."""
    content = request["messages"][-1]["content"]
    blocks = content if isinstance(content, list) else []
    if any(block["type"] == "tool_result" for block in blocks):
        return reply(ANSWER.strip())
    asked = sum(message["role"] == "user" for message in request["messages"])
    return reply("One moment, please.", call("get_order", {"number": str(24600 + asked)}))


def hold(peer: str, python: str) -> tuple[MessagesAPI, dict[str, str]]:
    """Run a program to its end; the API that it talked to, and the versions that it names."""
    api = MessagesAPI(answer)
    module = "turnkeeper_agent" if peer.startswith("turnkeeper") else peer
    environment = {"STORY_CACHE": "off" if "without" in peer else "on", "PYTHONWARNINGS": "ignore"}
    with api.listen() as url:
        done = subprocess.run(
            [python, "-m", f"benchmarks.cost.peers.{module}", url],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr[-3000:]}")
    told = json.loads(done.stdout.strip().splitlines()[-1])
    if told["answers"] != len(MESSAGES) or told["last"] != ANSWER.strip() or api.refusals:
        raise SystemExit(f"{peer} did not hold the conversation: {told} {api.refusals[:1]}")
    return api, told["versions"]


def row(peer: str, api: MessagesAPI, least: Decimal) -> str:
    """A line of the table."""
    used, cost = api.ledger.usage, api.cost() or Decimal(0)
    cells = [f"`{peer}`", f"{len([one for one in api.requests if one.message])}", f"{used.input_tokens:,}"]
    cells += [f"{used.cache_creation_input_tokens:,}", f"{used.cache_read_input_tokens:,}", f"{used.output_tokens:,}"]
    return "| " + " | ".join([*cells, f"${cost:.4f}", f"{cost / least:.1f}"]) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("programs", nargs="+", type=lambda text: program(PEERS, text), metavar="PROGRAM=PYTHON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page, too")
    options = parser.parse_args(arguments)
    held = {peer: hold(peer, python) for peer, python in options.programs}
    least = min(api.cost() or Decimal(0) for api, _ in held.values())
    head = ["program", "requests", "in", "written", "read", "out", "cost", "times"]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        f"Computed on {today} for {MODEL}, {len(MESSAGES)} turns with one call each.",
        "",
        "| " + " | ".join(head) + " |",
        "|---" + "|---:" * (len(head) - 1) + "|",
        *(row(peer, api, least) for peer, (api, _) in held.items()),
        "",
    ]
    named = [
        f"`{peer}`: {', '.join(f'{name} {v}' for name, v in versions.items())}" for peer, (_, versions) in held.items()
    ]
    text = "\n".join([*lines, "; ".join(named) + "."])
    print(text)
    if options.write:
        write(options.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
