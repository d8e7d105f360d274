"""`docs/cli.md`, written from what `--help` says: `python -m turnkeeper.cli.page` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from turnkeeper.cli.main import main as door

__all__ = ("page",)

_WIDTH = 100
_HEAD = """# The command line

What `--help` says, command by command. This page is made from the code: `python -m turnkeeper.cli.page` writes it to
stdout."""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for path, text in _helps(door, "turnkeeper", None):
        parts.append(f"## {path}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _helps(command: click.Command, path: str, above: click.Context | None) -> Iterator[tuple[str, str]]:
    name = path.rpartition(" ")[2]
    settings = {**command.context_settings, "terminal_width": _WIDTH, "color": False}
    context = click.Context(command, info_name=name, parent=above, **settings)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _helps(found, f"{path} {inner}", context)


if __name__ == "__main__":
    sys.stdout.write(page())
