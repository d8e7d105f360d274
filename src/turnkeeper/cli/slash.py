"""The commands inside a chat: /help, /new, /resume, /tools, /history, /cost, /export, /quit."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from turnkeeper.cli.conversing import Session
from turnkeeper.cli.escapes import clean, clean_line
from turnkeeper.cli.exporting import as_json, as_markdown, write_new
from turnkeeper.cli.printing import filtered
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.transcript import lines_of, read_transcript
from turnkeeper.cli.wording import spent
from turnkeeper.driver.turn import Turn

__all__ = ("COMMANDS", "LeaveError", "Slash")

COMMANDS: dict[str, str] = {
    "help": "this list",
    "new": "begin a new conversation",
    "resume": "go on with the last turn; with an ID, go on with that conversation",
    "tools": "the tools that the model may use",
    "history": "this conversation so far",
    "cost": "what this conversation has used",
    "export": "write this conversation to a file: /export [FILE.json|FILE.md]",
    "quit": "leave (so does Ctrl-D)",
}
_KEYS = (
    "Enter sends; Alt-Enter or Ctrl-J makes a new line; !multi begins a message of several lines, !end ends it.",
    "Ctrl-C cancels the running turn. To send a text that begins with a slash, put a space before it.",
)
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*\S))?\s*", re.DOTALL)


class LeaveError(Exception):
    """The person wants to leave."""


class Slash:
    """Runs commands. `run_turn` runs a turn of the conversation as a message would."""

    def __init__(self, session: Session, terminal: Terminal, run_turn: Callable[[Turn], Awaitable[None]]) -> None:
        self._session = session
        self._terminal = terminal
        self._run_turn = run_turn
        self._table: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "new": self._new,
            "resume": self._resume,
            "tools": self._tools,
            "history": self._history,
            "cost": self._cost,
            "export": self._export,
            "quit": self._quit,
            "exit": self._quit,
        }

    async def run(self, text: str) -> bool:
        """Run the text if it is a command; False if it is a message. CommandError and LeaveError."""
        match = _COMMAND.fullmatch(text)
        if match is None:
            return False
        command = self._table.get(match[1])
        if command is None:
            raise CommandError(
                f"there is no command /{match[1]}; /help lists them (a space before it sends it as text)"
            )
        await command(match[2] or "")
        return True

    def _say(self, text: str) -> None:
        self._terminal.answer(text + "\n")

    async def _help(self, argument: str) -> None:
        del argument
        for name, what in COMMANDS.items():
            self._say(f"/{name:<8} {what}")
        for line in _KEYS:
            self._say(line)

    async def _new(self, argument: str) -> None:
        del argument
        await self._session.switch(None)
        self._terminal.note(f"Conversation {clean_line(self._session.conversation.id)}.")

    async def _resume(self, argument: str) -> None:
        if argument:
            await self._session.switch(argument)
            conversation = self._session.conversation
            self._terminal.note(f"Conversation {clean_line(conversation.id)}. /history shows it.")
            if conversation.is_open:
                self._terminal.note("Its last turn was interrupted: /resume goes on with it.")
            return
        await self._run_turn(self._session.conversation.resume())

    async def _tools(self, argument: str) -> None:
        del argument
        if not self._session.tools:
            self._say("No tools. Start with -T MODULE[:NAME] to bring some.")
        for tool in self._session.tools:
            about = clean(tool.description).strip().split("\n", 1)[0]
            self._say(f"{clean_line(tool.name)} ({tool.effect}){f': {about}' if about else ''}")

    async def _history(self, argument: str) -> None:
        del argument
        transcript = await read_transcript(self._session.keeper.journal, self._session.conversation.id)
        if transcript is None:
            self._say("Nothing has been said yet.")
            return
        make_filter = self._session.make_filter
        for text, style in lines_of(
            transcript, width=self._terminal.width, chosen=lambda text: filtered(text, make_filter)
        ):
            self._say(self._terminal.styled(text, style, colored=self._terminal.colored_answers))

    async def _cost(self, argument: str) -> None:
        del argument
        transcript = await read_transcript(self._session.keeper.journal, self._session.conversation.id)
        if transcript is None:
            self._say("Nothing has been used yet.")
            return
        note = " (at the model's prices; the practice model costs nothing)" if self._session.practice else ""
        self._say(spent(transcript.usage, transcript.cost) + note)

    async def _export(self, argument: str) -> None:
        path = _file_for(argument, self._session.conversation.id)
        transcript = await read_transcript(self._session.keeper.journal, self._session.conversation.id)
        if transcript is None:
            raise CommandError("nothing has been said yet, so there is nothing to export")
        write_new(path, as_json(transcript) if path.suffix == ".json" else as_markdown(transcript))
        self._terminal.note(f"Written to {clean_line(str(path))}.")

    async def _quit(self, argument: str) -> None:
        del argument
        raise LeaveError


def _file_for(argument: str, conversation_id: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", conversation_id)
    path = Path(argument or f"conversation-{name}.md").expanduser()
    if path.suffix not in (".json", ".md"):
        raise CommandError(f"{path}: name it .json or .md, which says what to write")
    return path
