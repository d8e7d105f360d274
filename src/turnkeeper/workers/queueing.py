"""What those who hand turns over and those who run them must agree on, and the queue of DBOS between them.

The facts about DBOS are those of the source of its version 3.4. A workflow that waits or runs holds its deduplication
id in its queue; one whose process died keeps it, and stays PENDING, because open-source DBOS gives it back only to a
process of the same executor id. So each conversation has two such ids: while the workflow under one of them runs (or
is dead), the other may wait, and no more than one waits. Ids of conversations are all that DBOS is ever given.
"""

from __future__ import annotations

import datetime
import logging
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from turnkeeper.errors import ConfigurationError

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus

__all__ = (
    "APPLICATION",
    "QUEUE",
    "SCHEMA",
    "VERSION",
    "WORKFLOW",
    "Handing",
    "Queue",
    "Rate",
    "database_url",
    "quiet_dbos",
)

APPLICATION = "turnkeeper"
"""The name under which DBOS keeps workflows, queue and versions apart from those of other applications."""
VERSION = "1"
"""DBOS's `application_version`, pinned: else workers of two releases would not take each other's turns. It changes
when `WORKFLOW` takes other arguments or means something else."""
SCHEMA = "turnkeeper_workers"
"""The PostgreSQL schema of DBOS's tables, in the journal's database."""
QUEUE = "turns"
WORKFLOW = "turnkeeper_turn"

_PLACES = ("first", "second")
_TRIES = 4
_PAUSE = 0.05  # seconds; as long as a workflow that finds nothing to do takes
_MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most so many `turns` begin within any `seconds`, in all workers together."""

    turns: int
    seconds: float

    def __post_init__(self) -> None:
        if self.turns < 1 or not 0 < self.seconds <= 31 * 24 * 3600:
            raise ConfigurationError(
                f"a rate has 1 or more turns in more than 0 seconds (a month at most), not {self.turns} in"
                f" {self.seconds:g}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """A conversation in the queue: `running` under an executor since `since` (seconds since 1970), or waiting."""

    id: str
    conversation_id: str
    running: bool
    executor: str
    since: float


def database_url(journal_url: str) -> str:
    """The journal's URL as SQLAlchemy and DBOS take it. ConfigurationError if it isn't PostgreSQL's."""
    try:
        url = sa.make_url(journal_url)
    except sa.exc.ArgumentError:
        url = None
    if url is None or url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise ConfigurationError(
            "workers need a journal in PostgreSQL, such as postgresql+psycopg://user@host/name; a journal in a file or"
            " in memory is driven by the program that opens it"
        )
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def quiet_dbos() -> None:
    """Load DBOS, and let what it logs go the way of all logging, not to stderr. ConfigurationError without it."""
    try:
        import dbos  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            f"workers need {error.name or 'dbos'}, which is not installed: pip install 'turnkeeper[workers]'"
        ) from None
    log = logging.getLogger("dbos")
    log.addFilter(_is_news)
    if not log.handlers:  # else it adds one of its own
        log.addHandler(logging.NullHandler())


def _is_news(record: logging.LogRecord) -> bool:
    """Workers that reach into the queue at the same moment are no reason to worry: one of them tries again."""
    return not str(record.msg).startswith("Contention detected in queue")


class Queue:
    """DBOS's queue seen from outside of its workflows. Every method blocks, and is for worker threads."""

    def __init__(self, url: str) -> None:
        quiet_dbos()
        from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer  # noqa: PLC0415 - an extra

        self.url = url
        DBOS.migrate(url, schema=SCHEMA)
        self._client: DBOSClient = DBOSClient(
            system_database_url=url,
            dbos_system_schema=SCHEMA,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
        )

    def put(self, conversation_id: str) -> bool:
        """Have a worker look at the conversation. False if that was settled before: it waits already.

        It is not put there either while two workflows of it are running, which is over at once or a rescue's affair.
        """
        for _ in range(_TRIES):
            for place in _PLACES:
                handle = self._enqueue(conversation_id, place)
                if handle is None:
                    return True
                if handle in ("ENQUEUED", "DELAYED"):
                    return False
            time.sleep(_PAUSE)  # DBOS tells nobody when a workflow ends
        return False

    def _enqueue(self, conversation_id: str, place: str) -> str | None:
        """None if it is in the queue now, else the status of the workflow that is in its place."""
        name = str(uuid.uuid4())
        handle: Any = self._client.enqueue(
            {
                "workflow_name": WORKFLOW,
                "queue_name": QUEUE,
                "workflow_id": name,
                "app_version": VERSION,
                "deduplication_id": f"{place}:{conversation_id}",
                "duplication_policy": "return-existing",
            },
            conversation_id,
        )
        return None if handle.get_workflow_id() == name else str(handle.get_status().status)

    def handings(self) -> list[Handing]:
        """What is in the queue, the oldest first; a thousand at the most."""
        return [
            _handing(one)
            for one in self._client.list_workflows(
                name=WORKFLOW,
                queue_name=QUEUE,
                status=["ENQUEUED", "DELAYED", "PENDING"],
                limit=_MOST_LISTED,
                load_input=False,
                load_output=False,
            )
        ]

    def remove(self, handings: Iterable[Handing]) -> None:
        """Take workflows of dead processes out, so that their places and their share of the limits are free."""
        self._client.cancel_workflows([one.id for one in handings])

    def forget(self, *, before: float) -> int:
        """Delete what DBOS keeps of workflows that ended before that time (seconds since 1970); how many it were."""
        ended: Sequence[WorkflowStatus] = self._client.list_workflows(
            name=WORKFLOW,
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            completed_before=datetime.datetime.fromtimestamp(before, datetime.UTC).isoformat(),
            limit=_MOST_LISTED,
            load_input=False,
            load_output=False,
        )
        if ended:
            self._client.delete_workflows([one.workflow_id for one in ended])
        return len(ended)

    def close(self) -> None:
        """Close the connections."""
        self._client.destroy()


def _handing(one: WorkflowStatus) -> Handing:
    began = one.dequeued_at if one.status == "PENDING" else one.created_at
    return Handing(
        id=one.workflow_id,
        conversation_id=(one.deduplication_id or "").partition(":")[2],
        running=one.status == "PENDING",
        executor=one.executor_id or "",
        since=(began or one.created_at or 0) / 1000,
    )
