"""The line that a person types into: editing, several lines, paste, history."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import Completer, WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyPressEvent
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.shortcuts import CompleteStyle

from turnkeeper.cli.interrupts import during
from turnkeeper.cli.places import history_file
from turnkeeper.cli.terminal import is_dumb, keeps_typing, typed_early
from turnkeeper.wire.json import fold_surrogates

__all__ = ("MULTI", "Prompter")

MULTI = "!multi"
_END = "!end"


class Prompter:
    """Asks for one message at a time. `trouble` says why there is no history file, if there is none."""

    def __init__(self, *, commands: Sequence[str] = ()) -> None:
        # Asking a terminal where its cursor is takes an answer that not every terminal gives.
        os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
        self.trouble: str | None = None
        # Without an output of this kind even a dumb terminal is told to show its cursor.
        plain = create_app_session(output=PlainTextOutput(sys.stdout)) if is_dumb() else contextlib.nullcontext()
        with plain:
            self._session = self._made(commands)

    def _made(self, commands: Sequence[str]) -> PromptSession[str]:
        return PromptSession(
            history=self._history(),
            key_bindings=_keys(),
            multiline=True,
            completer=_completer(commands),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            enable_suspend=True,
            prompt_continuation=lambda width, number, wrapped: " " * width,  # noqa: ARG005 - the library's signature
        )

    async def message(self) -> str:
        """The next message. EOFError for Ctrl-D on an empty line, KeyboardInterrupt for Ctrl-C on one."""
        text = await self._line("> ")
        first, _, marker = text.strip().partition(" ")
        if first != MULTI or "\n" in text.strip():
            return text
        end = f"{_END} {marker.strip()}".strip()
        lines: list[str] = []
        while (line := await self._line(". ")).strip() != end:
            lines.append(line)
        return "\n".join(lines)

    async def private(self, prompt: str) -> str:
        """One line that is kept in no history, such as a code. EOFError and KeyboardInterrupt as for a message."""
        session: PromptSession[str] = PromptSession(history=InMemoryHistory())
        return (await self._line(prompt, session)).strip()

    async def _line(self, prompt: str, session: PromptSession[str] | None = None) -> str:
        session = session or self._session
        app = session.app

        def interrupted() -> None:
            if app.is_running:
                app.exit(exception=KeyboardInterrupt)

        with keeps_typing(as_keys=True), during(interrupted):
            keys: list[KeyPress] = []
            parser = Vt100Parser(keys.append)
            parser.feed(typed_early())
            parser.flush()
            store_typeahead(app.input, keys)
            text = await session.prompt_async(prompt, handle_sigint=False)
        return fold_surrogates(text)

    def _history(self) -> History:
        try:
            return _PrivateHistory(history_file())
        except OSError as error:
            self.trouble = f"what you type is not kept: {error.filename}: {error.strerror}"
            return InMemoryHistory()


class _PrivateHistory(FileHistory):
    """The history file; what UTF-8 can't carry is replaced, and a full disk is no reason to stop."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(fold_surrogates(string))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


def _completer(commands: Sequence[str]) -> Completer:
    options: dict[str, Any] = {"sentence": True}
    return WordCompleter(list(commands), **options)
