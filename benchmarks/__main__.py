"""Runs the clients in turn and prints the tables: `script/bench`."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.clients import CLIENTS, ELSEWHERE
from benchmarks.pages import TABLES, write
from benchmarks.peers import pythons_for
from benchmarks.report import VARIANTS, Results, growth_table, requests_table, spread_line, versions_line
from benchmarks.targets import of_durability, of_imports, of_requests, run_in_process, targets_table

__all__ = ("main",)

ROOT = Path(__file__).resolve().parent.parent
TARGETS = "targets"
"""The marks of a page: what stands between <!-- NAME --> and <!-- /NAME --> is replaced."""
BASE = "httpx2_loop"
GROWTH = "growth"


def processors() -> tuple[int | None, int | None]:
    """One processor for the server and another for the client, where the system lets us choose."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    free = sorted(os.sched_getaffinity(0))
    return (free[-1], free[0]) if len(free) > 1 else (None, None)


@contextlib.contextmanager
def server(cpu: int | None) -> Iterator[str]:
    """The scripted API, for as long as the block lasts; gives its URL."""
    command = [sys.executable, "-m", "benchmarks.server", *([] if cpu is None else ["--cpu", str(cpu)])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def measure(
    client: str, scenario: dict[str, Any], seconds: float, pythons: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any] | str:
    """One run in a process of its own: its result, or why there is none."""
    command = [pythons.get(client, sys.executable), "-m", "benchmarks.measure", client, json.dumps(scenario)]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"not done after {seconds:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["ended without a word"])[-1]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def scenarios(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What to run, by variant."""
    found: dict[str, dict[str, Any]] = {}
    common = {"calls": options.calls, "result_bytes": options.result_bytes}
    if options.rounds:
        for variant in options.variants:
            mode, _, stream = variant.partition(" ")
            found[variant] = {**common, "mode": mode, "stream": bool(stream), "rounds": options.rounds}
    if options.growth_rounds:
        found[GROWTH] = {
            "mode": "async",
            "stream": False,
            "rounds": options.growth_rounds,
            "calls": 1,
            "result_bytes": options.growth_result_bytes,
        }
    return found


def run(options: argparse.Namespace) -> Results:
    """All cycles: in each, every client runs every variant once, and another client begins, so that no one always runs
    on a machine just warmed or slowed by the same neighbour."""
    results = Results()
    server_cpu, client_cpu = processors()
    with server(server_cpu) as url:
        for cycle in range(options.cycles):
            shift = cycle % len(options.clients)
            order = options.clients[shift:] + options.clients[:shift]
            for variant, scenario in scenarios(options).items():
                if variant == GROWTH and cycle >= options.growth_cycles:
                    continue
                for client in order:
                    if (client, variant) in results.failures:
                        results.add(client, variant, None)
                        continue
                    given = {**scenario, "url": url, "cpu": client_cpu}
                    measured = measure(client, given, options.timeout, options.pythons)
                    if isinstance(measured, str):
                        results.failures[client, variant] = measured
                        results.add(client, variant, None)
                    else:
                        results.add(client, variant, measured)
            print(f"cycle {cycle + 1} of {options.cycles}", file=sys.stderr, flush=True)
    return results


def report(results: Results, options: argparse.Namespace) -> str:
    """The tables with what a reader needs to judge them."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [
        f"Measured on {today}: Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors; {versions_line(results)}.",
    ]
    if options.rounds:
        parts += [
            f"**Processor time of one request, in milliseconds** (in brackets: times `{BASE}`). One conversation of "
            f"{options.rounds} rounds, {options.calls} call(s) each, results of {options.result_bytes} characters; "
            f"median of {options.cycles} cycle(s). {spread_line(results, options.clients, options.variants)}",
            requests_table(results, options.clients, options.variants, BASE),
        ]
    if options.growth_rounds:
        parts += [
            f"**Processor time of one request as the history grows, in milliseconds.** One conversation of "
            f"{options.growth_rounds} rounds, results of {options.growth_result_bytes} characters, async, not "
            f"streamed; median of {min(options.cycles, options.growth_cycles)} cycle(s).",
            growth_table(results, options.clients, GROWTH, options.growth_rounds),
        ]
    parts += [f"`{client}` failed ({variant}): {why}" for (client, variant), why in results.failures.items()]
    return "\n\n".join(parts)


def report_targets(options: argparse.Namespace) -> str:
    """Every target beside its figure."""
    server_cpu, client_cpu = processors()
    found = of_imports(options.pythons)
    versions: dict[str, str] = {}
    with server(server_cpu) as url:

        def once(client: str, scenario: dict[str, Any]) -> dict[str, Any] | str:
            result = measure(client, {**scenario, "url": url, "cpu": client_cpu}, options.timeout, options.pythons)
            if not isinstance(result, str):
                versions.update(result["versions"])
            return result

        found += of_requests(once, options.clients, options.cycles)
    found += of_durability()
    found += run_in_process()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    named = ", ".join(f"{package} {version}" for package, version in sorted(versions.items()))
    head = f"Measured on {today}: Python {platform.python_version()}, {os.cpu_count()} processors; {named}."
    load = f"The machine was busy with {os.getloadavg()[0]:.1f} programs beside this one."
    return "\n\n".join([head, load, targets_table(found)])


def interpreter(text: str) -> tuple[str, str]:
    name, _, python = text.partition("=")
    if name not in CLIENTS or not python:
        raise argparse.ArgumentTypeError(f"CLIENT=PYTHON, with a client of {', '.join(CLIENTS)}; not {text!r}")
    return name, python


def names(allowed: Sequence[str], text: str) -> list[str]:
    chosen = [name.strip() for name in text.split(",")]
    unknown = [name for name in chosen if name not in allowed]
    if unknown:
        raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(allowed)}")
    return chosen


def main() -> int:
    """The command line; 1 if a client failed."""
    parser = argparse.ArgumentParser(prog="script/bench", description="Processor time per request, client by client.")
    parser.add_argument("--clients", type=lambda text: names(list(CLIENTS), text), default=list(CLIENTS))
    parser.add_argument("--variants", type=lambda text: names(VARIANTS, text), default=list(VARIANTS))
    parser.add_argument("--cycles", type=int, default=5, help="times that every client runs (default 5)")
    parser.add_argument("--rounds", type=int, default=50, help="tool rounds of a conversation; 0 leaves this part out")
    parser.add_argument("--calls", type=int, default=1, help="tool calls in each round")
    parser.add_argument("--result-bytes", type=int, default=100, help="length of each result")
    parser.add_argument("--growth-rounds", type=int, default=1000, help="rounds of the long one; 0 leaves it out")
    parser.add_argument("--growth-result-bytes", type=int, default=1000)
    parser.add_argument("--growth-cycles", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=180, help="seconds that one run may take")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        type=interpreter,
        metavar="CLIENT=PYTHON",
        help="the Python that has the client's library; those of other libraries run only with it",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="install the other libraries, each in a Python of its own, and run them",
    )
    parser.add_argument("--targets", action="store_true", help="the targets alone, without the tables")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page too")
    options = parser.parse_args()
    options.pythons = dict(options.python)
    if options.peers:
        options.pythons = pythons_for(name for name in options.clients if name not in options.pythons) | options.pythons
    options.clients = [name for name in options.clients if name not in ELSEWHERE or name in options.pythons]
    failed = False
    if not options.targets:
        results = run(options)
        failed = bool(results.failures)
        _show(report(results, options), options.write, TABLES)
    _show(report_targets(options), options.write, TARGETS)
    return 1 if failed else 0


def _show(text: str, page: Path | None, mark: str) -> None:
    print(text, flush=True)
    if page is not None:
        write(page, text, mark)


if __name__ == "__main__":
    sys.exit(main())
