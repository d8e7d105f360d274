"""Every exception of Turnkeeper, in one place.

Each class docstring says what happened and what to do; `code` is stable and fit for programs to switch on.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = (
    "APIError",
    "ApprovalDecidedError",
    "ApprovalExpiredError",
    "ApprovalRefusedError",
    "ArgumentsRejectedError",
    "ConfigurationError",
    "ConversationBusyError",
    "ExtractionError",
    "HistoryError",
    "IllegalEventError",
    "InputError",
    "JournalError",
    "JournalVersionError",
    "LimitError",
    "ToolChoiceUnmet",
    "ToolDefinitionError",
    "ToolError",
    "TurnkeeperError",
    "UnconfirmedError",
    "UnknownApprovalError",
    "UnknownConversationError",
)


class TurnkeeperError(Exception):
    """Anything that Turnkeeper raises on purpose; catch this to catch them all."""

    code: ClassVar[str] = "turnkeeper_error"


class ConfigurationError(TurnkeeperError):
    """The settings can't work together (a missing key, a forbidden combination); nothing was sent."""

    code = "configuration"


class ToolDefinitionError(TurnkeeperError):
    """A function can't be offered as a tool; the text says which part of it and how to mend it."""

    code = "tool_definition"


class ToolError(TurnkeeperError):
    """Raise this in a tool to tell the model something: its text reaches the model word for word.

    Any other exception becomes a short neutral text with an error id, and its details go to the log only.
    `content` is text; it must not be blank (the API refuses an error result without text). What a `transactional` tool
    wrote is rolled back, as for any exception, unless `keep_writes` is set: then it is committed together with this
    result. That is for a refusal that leaves a trace, such as a line in an audit.
    """

    code = "tool_error"

    def __init__(self, content: str, *, keep_writes: bool = False) -> None:
        super().__init__(content)
        self.content = content
        self.keep_writes = keep_writes


class ArgumentsRejectedError(TurnkeeperError):
    """The model's arguments don't fit the tool; the text names field, reason and value, for the model."""

    code = "arguments_rejected"


class InputError(TurnkeeperError):
    """What the caller passed in can't be used (a blank message, a bad option); nothing was stored or sent."""

    code = "input"


class HistoryError(InputError):
    """A message list is not one the API would accept; `path` says where, the text says how to repair it."""

    code = "history"

    def __init__(self, message: str, *, path: str = "messages") -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class LimitError(ConfigurationError):
    """A limit can't be kept (for example a money limit on a model without a known price)."""

    code = "limit"


class ApprovalRefusedError(TurnkeeperError):
    """This principal may not decide on the call (it asked for it, or lacks the right); nothing was changed."""

    code = "approval_refused"


class UnknownApprovalError(InputError):
    """No approval of that id waits; `turnkeeper approvals` lists those that do."""

    code = "unknown_approval"


class ApprovalDecidedError(InputError):
    """The approval was decided before, and counts once; nothing was changed."""

    code = "approval_decided"


class ApprovalExpiredError(InputError):
    """The time to decide is over; the call counts as denied."""

    code = "approval_expired"


class UnconfirmedError(InputError):
    """The conversation was held by somebody who had proven who they are, and whoever speaks now has not (any more).

    Nothing was stored or sent: let them prove it again, or begin a new conversation.
    """

    code = "unconfirmed"


class IllegalEventError(TurnkeeperError):
    """An event that the state machine doesn't allow in this state; the state is unchanged."""

    code = "illegal_event"


class JournalError(TurnkeeperError):
    """The journal could not be read or written; nothing after its last event has taken effect."""

    code = "journal"


class JournalVersionError(JournalError):
    """The journal was written by a newer Turnkeeper: upgrade, or open another journal."""

    code = "journal_version"


class UnknownConversationError(JournalError):
    """No conversation of that id is in this journal; `turnkeeper list` shows what is."""

    code = "unknown_conversation"


class ConversationBusyError(JournalError):
    """Another driver is at work on the conversation; wait for its turn to end, or use another conversation.

    Where a lease says so, `holder` is who drives it, `since` and `until` (seconds since 1970) for how long.
    """

    code = "conversation_busy"

    def __init__(
        self, message: str, *, holder: str | None = None, since: float | None = None, until: float | None = None
    ) -> None:
        super().__init__(message)
        self.holder = holder
        self.since = since
        self.until = until


class ToolChoiceUnmet(TurnkeeperError):  # noqa: N818 - the name that says what happened
    """The model did not keep to the `tool_choice`, though it was asked again as often as the setting allows.

    Nothing was run of the replies that broke it, and they are not in the history; the turn's status is `failed`, its
    reason `tool_choice_unmet`. `tool_choice` is the choice as the API's object, `came` the content blocks of the last
    such reply, `replies` how many there were, `reply` the turn's Reply. Send again, say in the prompt which tool to
    use, or use a model that takes a forced choice (`turnkeeper models`).
    """

    code = "tool_choice_unmet"

    def __init__(self, message: str, *, tool_choice: dict[str, Any], came: list[dict[str, Any]], replies: int) -> None:
        super().__init__(message)
        self.tool_choice = tool_choice
        self.came = came
        self.replies = replies
        self.reply: Any = None


class ExtractionError(TurnkeeperError):
    """A text could not be brought into the form that was asked for; `reason` is a stable word for why.

    `invalid` (what came does not fit, also after it was shown its faults), `refused`, `truncated`, `tool_choice_unmet`
    (it made no record), or the reason of the limit that was met. `faults` is the list of what does not fit, as the
    model was told it; `came` what came last: its text, or the record as JSON; `reply` the last turn's Reply. Look at
    both: the type may ask for what the text does not say; make such fields optional.
    """

    code = "extraction"

    def __init__(self, message: str, *, reason: str, came: str = "", faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.came = came
        self.faults = faults
        self.reply: Any = None


class APIError(TurnkeeperError):
    """The Messages API (or the way to it) failed; classify by `kind`, never by the wording.

    `kind` is the API's error type (`overloaded_error`, `rate_limit_error`, …), or `connection_error`, `timeout_error`,
    `stream_cut` (the connection ended before `message_stop`), `malformed_reply`. `status` is the HTTP status, 200 for
    an error event inside a stream, None without a response. `retryable` says whether the same request may be sent
    again, `retry_after` the seconds that the server asked for, `details` what the envelope carried besides.
    Where it ended a turn, `reply` is the turn's Reply: its `messages` hold the results of calls that have run.
    """

    code = "api"

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id
        self.details = details
        self.reply: Any = None
