"""What the model is told when a tool fails, and what goes to the log instead.

`ToolError` speaks to the model, word for word. Any other exception is told by its class and an error id only: its text
may hold a password, another customer's data, or instructions that somebody planted. The log has the traceback under
the same id, with secrets masked.

One exception is told a little more, because the model can act on it: a `KeyError` raised with one word made of letters
and underscores in one letter case, such as a field's name ("sku", "order_id", "ГОРОД"). Ids, e-mail addresses, tokens
and host names hold digits, mixed case or other characters, and are never repeated.
"""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Iterator

from turnkeeper.errors import ToolError
from turnkeeper.redaction import redacted
from turnkeeper.tools.masking import mask
from turnkeeper.tools.wording import clean, cut

__all__ = (
    "ERROR_TEXT_PLACEHOLDER",
    "failure_text",
    "keeps_writes",
    "log_failure",
    "new_error_id",
    "told_error",
    "unrendered_text",
)

logger = logging.getLogger("turnkeeper.tools")

ERROR_TEXT_PLACEHOLDER = "The tool failed without saying why."
_LONGEST_WORD = 40
_LONGEST_LOG = 50_000
_LONGEST_NAME = 80


def new_error_id() -> str:
    """Eight hexadecimal digits that link what the model was told with the log."""
    return secrets.token_hex(4)


def told_error(exception: BaseException, limit: int) -> str | None:
    """The text of a `ToolError`, at most `limit` characters; None for any other exception.

    A group that holds nothing but `ToolError`s (a task group inside the tool raises one) is told line by line.
    """
    leaves = list(_leaves(exception))
    if not all(isinstance(leaf, ToolError) for leaf in leaves):
        return None
    text = "\n".join(str(getattr(leaf, "content", leaf)) for leaf in leaves)
    return cut(clean(text), limit) if text.strip() else ERROR_TEXT_PLACEHOLDER


def keeps_writes(exception: BaseException) -> bool:
    """Whether what the tool wrote stands although it raised: a `ToolError` says so, and each one of a group."""
    return all(isinstance(leaf, ToolError) and getattr(leaf, "keep_writes", False) for leaf in _leaves(exception))


def _leaves(exception: BaseException) -> Iterator[BaseException]:
    if isinstance(exception, BaseExceptionGroup):
        for inner in exception.exceptions:
            yield from _leaves(inner)
    else:
        yield exception


def failure_text(exception: BaseException, error_id: str, *, changes: bool) -> str:
    """The neutral text about an unexpected exception; `changes` says that the tool may have done part of its work."""
    name = cut(clean(type(exception).__name__), _LONGEST_NAME)
    word = _missing_word(exception)
    reason = f": {word!r} was looked up and not found" if word else ""
    partly = " Part of its work may have been done." if changes else ""
    return f"The tool failed ({name}, error id {error_id}){reason}.{partly} The details are in the application's log."


def unrendered_text(exception: BaseException, error_id: str) -> str:
    """The text about a tool that finished, but whose result can't be sent."""
    name = cut(clean(type(exception).__name__), _LONGEST_NAME)
    return (
        f"The tool finished, but its result can't be written as text ({name}, error id {error_id}). "
        "The details are in the application's log."
    )


def _missing_word(exception: BaseException) -> str | None:
    if type(exception) is not KeyError or len(exception.args) != 1:
        return None
    word = exception.args[0]
    if type(word) is not str or not 0 < len(word) <= _LONGEST_WORD:
        return None
    letters = word.replace("_", "")
    one_case = letters.islower() or letters.isupper()
    return word if letters.isalpha() and one_case else None


def log_failure(exception: BaseException, *, tool: str, call_id: str, error_id: str, what: str = "failed") -> None:
    """Write the traceback to the log `turnkeeper.tools` under the id that the model was told, without secrets, card
    numbers, e-mail addresses and phone numbers.

    The log gets no `exc_info`: a handler would write the exception once more, unmasked.
    """
    try:
        lines = traceback.format_exception(exception)
    except Exception:  # noqa: BLE001 - an exception that can't even be formatted must still be logged
        lines = [type(exception).__name__]
    logger.error(
        "Tool %s %s (call %s, error id %s)\n%s",
        tool,
        what,
        call_id or "-",
        error_id,
        redacted(mask(cut(clean("".join(lines)), _LONGEST_LOG))).rstrip(),
        extra={"error_id": error_id},
    )
