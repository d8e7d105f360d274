"""What the pages show works: python blocks run, commands exist, console blocks marked `<!-- runs -->` are right.

The python blocks of a page run from top to bottom in one namespace, in one process, as a reader would paste them into a
notebook: a block may use `await`. A block stays out only with a remark that says why (`<!-- not run: REASON -->`).
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from tests.docs.blocks import ROOT, Block, Command, commands, pages, read_blocks

BLOCKS = [block for page in pages() for block in read_blocks(page)]
COMMANDS = [command for block in BLOCKS if block.language == "console" for command in commands(block)]


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run(block: Block, namespace: dict[str, object]) -> None:
    """Run a block; a failure points at the line of the page."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec", flags=flags)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, namespace))  # noqa: S307 - the project's own pages
    else:
        exec(code, namespace)  # noqa: S102 - likewise


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if any(block.language == "python" for block in read_blocks(page))],
    ids=page_name,
)
@pytest.mark.usefixtures("reader_with_api")
def test_the_python_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in read_blocks(page):
        if block.language == "python" and not block.remark.startswith("not run:"):
            run(block, namespace)


def test_a_block_that_does_not_run_says_why() -> None:
    silent = [
        block.name
        for block in BLOCKS
        if block.remark.startswith("not run") and len(block.remark.partition("not run:")[2].split()) < 2
    ]
    assert not silent


def test_every_script_that_a_page_names_is_there_to_be_run() -> None:
    named = {command.text.split()[0] for command in COMMANDS if command.text.startswith("script/")}
    assert [script for script in sorted(named) if not os.access(ROOT / script, os.X_OK)] == []


def test_every_command_that_a_page_shows_is_understood() -> None:
    for command in COMMANDS:
        if command.text.startswith("turnkeeper"):
            understand(command)


def understand(command: Command) -> None:
    """Have the command line parse the command, without carrying it out."""
    from turnkeeper.cli.main import main

    words = shlex.split(re.split(r"[|<>]", command.text.replace("\\\n", " "))[0])[1:]
    here: click.Command = main
    context = click.Context(here, info_name="turnkeeper")
    while isinstance(here, click.Group) and words and not words[0].startswith("-"):
        found = here.get_command(context, words[0])
        assert found is not None, f"{command.block.name}: there is no command {words[0]!r}"
        here, words = found, words[1:]
        context = click.Context(here, parent=context, info_name=here.name)
    try:
        if not {"--help", "--version"} & set(words):
            here.parse_args(context, words)
    except click.UsageError as error:
        raise AssertionError(f"{command.block.name}: {command.text}: {error.format_message()}") from error


@pytest.mark.usefixtures("reader")
def test_every_console_block_marked_so_gives_the_output_it_shows() -> None:
    for block in BLOCKS:
        if block.remark == "runs":
            for command in commands(block):
                compare(command)


def compare(command: Command) -> None:
    """Run the command in a shell; an ellipsis in the page stands for anything, on as many lines as it takes."""
    done = subprocess.run(
        ["sh", "-c", command.text], capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )
    pattern = ".*".join(re.escape(part) for part in "\n".join(command.output).split("…"))
    said = f"{command.block.name}: {command.text}\n{done.stdout}\n{done.stderr}"
    assert re.fullmatch(pattern, done.stdout.rstrip(), re.DOTALL), said
