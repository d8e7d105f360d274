"""`turnkeeper ask`, `chat`, `resume`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, talking

__all__ = ("ask_command", "chat_command", "resume_command")


@click.command("ask", short_help="Run one turn and print the answer.")
@click.argument("prompt", nargs=-1)
@talking
def ask_command(prompt: tuple[str, ...], **options: Any) -> int:
    """Run one turn: send PROMPT, run the tools that the model asks for, print the answer.

    Without PROMPT, or with -, the prompt is read from stdin; with both, stdin comes first, as in
    `git diff | turnkeeper ask "Explain this change"`.

    Stdout gets the answer and nothing else; one line per call and everything else goes to stderr. The conversation is
    kept: -c goes on with it.
    """
    from turnkeeper.cli.asking import ask  # noqa: PLC0415 - loads the SDK and the journal

    return ask(prompt, Talk(**options))


@click.command("chat", short_help="Talk, turn by turn.")
@talking
def chat_command(**options: Any) -> int:
    """Talk with the model, turn by turn.

    Enter sends; Alt-Enter or Ctrl-J makes a new line, and so does everything between `!multi` and `!end`. /help lists
    the commands. Ctrl-C cancels the running turn and keeps the conversation sound; a second one leaves. Ctrl-D leaves.

    Where stdin or stdout is no terminal, stdin is the prompt of a single turn.
    """
    from turnkeeper.cli.asking import chat  # noqa: PLC0415 - loads the SDK and the journal

    return chat(Talk(**options))


@click.command("resume", short_help="Go on with a conversation's last turn.")
@click.argument("conversation_id", metavar="ID")
@talking
def resume_command(conversation_id: str, **options: Any) -> int:
    """Go on with the last turn of conversation ID: one that was interrupted, failed, met a limit, or waited for a
    person who has decided.

    Bring the same tools (-T) and --journal as before; everything is taken up where it stood. A call that was under way
    when its program stopped runs again only if its tool says that it may; of any other the outcome is unknown, and the
    turn waits (exit code 3) until somebody says what became of it: `turnkeeper approvals` lists such calls, and those
    that need approval.
    """
    from turnkeeper.cli.asking import resume  # noqa: PLC0415 - loads the SDK and the journal

    return resume(conversation_id, Talk(**options))
