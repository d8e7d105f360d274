"""The work of `extract`: lines in, values out, several at a time, in order, each error with its line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import click

from turnkeeper.cli.conversing import build_agent
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.partial import Partial, digest_of
from turnkeeper.cli.problems import without_secrets
from turnkeeper.cli.schemas import load_target
from turnkeeper.cli.terminal import Terminal, is_dumb
from turnkeeper.driver.agent import Agent
from turnkeeper.errors import APIError, ExtractionError, InputError, TurnkeeperError
from turnkeeper.wire.json import MOST_NESTED, NestedTooDeepError, decode, fold_surrogates

__all__ = ("Job", "extract")

_HOPELESS = frozenset({"authentication_error", "permission_error", "billing_error", "not_found_error"})
"""Failures of the API that every other text would meet as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the command line asks for."""

    schema: str
    form: str = "text"
    field: str = "text"
    output: str | None = None
    concurrency: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of stdin: its text, or why there is none; `about` is what comes back with its value."""

    number: int
    digest: str
    text: str = ""
    fault: str = ""
    about: dict[str, Any]


def extract(job: Job, talk: Talk) -> int:
    """Extract each line of stdin. 0 if all went well, 1 if some did not."""
    kind, target = load_target(job.schema)
    terminal = Terminal(color=not talk.no_color)
    lines = [_read(number, raw, job) for number, raw in enumerate(_stdin(), start=1)]
    agent, _ = build_agent(talk, terminal, build=_without_tools)
    if job.output is None:
        return in_loop(_Run(job, agent, kind, lines, terminal).to_stdout)
    form = digest_of(json.dumps(target.schema, sort_keys=True).encode())
    with Partial(Path(job.output), form=form, texts=[line.digest for line in lines]) as partial:
        run = _Run(job, agent, kind, lines, terminal)
        ended: int = Exit.INTERRUPTED
        try:
            ended = in_loop(lambda: run.to_file(partial))
        finally:
            if ended == Exit.INTERRUPTED:
                kept = f"{len(partial.done)} of {len(lines)} lines are done"
                terminal.note(f"turnkeeper: {kept}; the same command goes on with the others", "yellow")
        return ended


def _without_tools(**options: Any) -> Agent:
    """Extraction offers no tools, whatever the settings say, and chooses by itself."""
    return Agent(**{name: value for name, value in options.items() if name not in ("tools", "tool_choice")})


def _stdin() -> list[bytes]:
    stream = sys.stdin
    if stream is None or stream.closed or stream.isatty():
        raise click.UsageError("there is nothing to read; pipe the texts to stdin, one a line")
    whole = stream.buffer.read().removeprefix(b"\xef\xbb\xbf")
    lines = whole.split(b"\n")
    if not lines[-1].strip():
        lines.pop()
    if not lines:
        raise click.UsageError("stdin is empty; pipe the texts to it, one a line")
    return lines


def _read(number: int, raw: bytes, job: Job) -> Line:
    about: dict[str, Any] = {"line": number}
    digest = digest_of(raw.rstrip(b"\r"))
    try:
        text = raw.decode("utf-8").rstrip("\r")
        if job.form == "jsonl":
            text = _of_json(text, about, job.field)
        fault = "" if text.strip() else "the text is blank"
    except UnicodeDecodeError as error:
        text, fault = "", f"the line is not UTF-8 text (at byte {error.start})"
    except ValueError as error:
        text, fault = "", str(error)
    return Line(number=number, digest=digest, text=text, fault=fault, about=about)


def _of_json(text: str, about: dict[str, Any], field: str) -> str:
    """The text in a line of JSON; `about` gets its id, if it has one. ValueError says what is wrong."""
    try:
        given = decode(text, most_nested=MOST_NESTED)
    except NestedTooDeepError as error:
        raise ValueError(f"the line can't be read: {error}") from None
    except ValueError as error:
        why = "a number in it is too long" if "int_max_str_digits" in str(error) else error
        raise ValueError(f"the line is not JSON: {why}") from None
    if isinstance(given, dict):
        if "id" in given:
            about["id"] = given["id"]
        if field not in given:
            raise ValueError(f"the object has no {field!r}; --field names the member with the text")
        given = given[field]
    if not isinstance(given, str):
        raise ValueError(f"the text is a string, not {type(given).__name__}")
    return given


class _Run:
    """One run over the lines. Failures that every line would meet end it; what was done before is kept."""

    def __init__(self, job: Job, agent: Agent, kind: Any, lines: list[Line], terminal: Terminal) -> None:
        self._job = job
        self._agent = agent
        self._kind = kind
        self._lines = lines
        self._terminal = terminal
        self._records: dict[int, dict[str, Any]] = {}
        self._written = 0

    async def to_stdout(self) -> int:
        """Write each line as soon as those before it are written."""
        await self._all(self._lines, partial=None)
        return self._said(again=False)

    async def to_file(self, partial: Partial) -> int:
        """Do what is not done, then write all of it."""
        self._records = dict(partial.done)
        if self._records:
            self._terminal.note(f"turnkeeper: {len(self._records)} of {len(self._lines)} lines were done before")
        await self._all([line for line in self._lines if line.number not in self._records], partial)
        records = [self._records[line.number] for line in self._lines]
        complete = not any("error" in record for record in records)
        partial.finish(records, complete=complete)
        return self._said(again=not complete)

    def _said(self, *, again: bool) -> int:
        failed = sum("error" in record for record in self._records.values())
        if not failed:
            return Exit.DONE
        more = "; the same command tries them again" if again else ""
        self._terminal.note(f"turnkeeper: {failed} of {len(self._lines)} lines failed{more}", "yellow")
        return Exit.ERROR

    async def _all(self, lines: list[Line], partial: Partial | None) -> None:
        waiting: Iterator[Line] = iter(lines)
        stopped: list[BaseException] = []

        async def work() -> None:
            for line in waiting:
                try:
                    record = await self._one(line)
                    self._records[line.number] = record
                    if partial is None:
                        self._write_ready()
                    elif "error" not in record:
                        partial.add(record)
                except Exception as error:  # noqa: BLE001 - raised below, out of the group
                    stopped.append(error)
                    group.cancel_scope.cancel()
                    return
                advance()

        with self._progress(len(lines)) as advance:
            async with self._agent.open(), anyio.create_task_group() as group:
                for _ in range(min(self._job.concurrency, len(lines))):
                    group.start_soon(work)
        if stopped:
            raise stopped[0]

    async def _one(self, line: Line) -> dict[str, Any]:
        if line.fault:
            return line.about | {"error": {"code": InputError.code, "message": line.fault}}
        try:
            value = await self._agent.extract_async(self._kind, line.text)
        except ExtractionError as error:
            return line.about | {"error": _told(error, reason=error.reason, faults=error.faults, came=error.came)}
        except APIError as error:
            if error.kind in _HOPELESS:
                raise
            return line.about | {"error": _told(error, reason=error.kind)}
        except InputError as error:
            return line.about | {"error": _told(error)}
        return line.about | {"value": _as_json(value)}

    def _write_ready(self) -> None:
        """Write the lines that are next, as far as they are there."""
        while (record := self._records.get(self._written + 1)) is not None:
            self._written += 1
            self._terminal.answer(fold_surrogates(json.dumps(record, ensure_ascii=False)) + "\n")

    @contextlib.contextmanager
    def _progress(self, total: int) -> Iterator[Any]:
        """A bar on stderr where somebody sees it and no answers run through it; gives what moves it."""
        terminal = self._terminal
        shown = terminal.notes_on_screen and not is_dumb()
        if not shown or (terminal.answers_on_screen and self._job.output is None):
            yield lambda: None
            return
        from rich.console import Console  # noqa: PLC0415 - loads when it is used
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

        console = Console(stderr=True, no_color=not terminal.colored_notes)
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda: bar.advance(task)


def _told(error: TurnkeeperError, **more: Any) -> dict[str, Any]:
    said = {"code": error.code, **{name: value for name, value in more.items() if value}}
    return said | {"message": without_secrets(str(error))}


def _as_json(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - it has been loaded by now

    return to_jsonable_python(value, by_alias=True, inf_nan_mode="strings")
