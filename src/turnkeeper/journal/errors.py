"""What can be wrong with a journal, one class for each thing a person would do about it."""

from __future__ import annotations

from typing import ClassVar

from turnkeeper.errors import JournalError

__all__ = (
    "ConversationExistsError",
    "ImportRejectedError",
    "JournalDamagedError",
    "JournalLockedError",
    "JournalReadOnlyError",
    "JournalRefusedError",
    "JournalStorageError",
    "JournalURLError",
    "JournalUnreachableError",
    "NotAJournalError",
)


class JournalURLError(JournalError):
    """That is not the URL of a journal; the text shows one that is."""

    code = "journal_url"


class JournalLockedError(JournalError):
    """Another program kept the database locked for longer than the timeout; nothing was written: try again."""

    code = "journal_locked"
    retryable: ClassVar[bool] = True


class JournalUnreachableError(JournalError):
    """The database server can't be reached, or the connection was lost: try again when it is back.

    What was lost while it was being committed may have been written: read the conversation before going on.
    """

    code = "journal_unreachable"
    retryable: ClassVar[bool] = True


class JournalStorageError(JournalError):
    """The disk is full, at a limit, or failing; nothing was written: make room, then go on."""

    code = "journal_storage"


class JournalReadOnlyError(JournalError):
    """The journal may be read but not written: look at the modes of the file and its folder, or use another."""

    code = "journal_read_only"


class JournalRefusedError(JournalError):
    """The database refused the user, the password, or what it was asked for; the text says which."""

    code = "journal_refused"


class NotAJournalError(JournalError):
    """There is something else in that place (another kind of file, tables of another program): name another place."""

    code = "not_a_journal"


class JournalDamagedError(JournalError):
    """What is stored is not what was written: it was edited, cut or damaged. Restore it from a backup.

    `problems` of the conversation, where they are known, are listed by `Journal.verify`.
    """

    code = "journal_damaged"


class ConversationExistsError(JournalError):
    """A conversation of that id is in this journal already; nothing was imported."""

    code = "conversation_exists"


class ImportRejectedError(JournalError):
    """The text is not an export, or was changed since; nothing was imported."""

    code = "import_rejected"
