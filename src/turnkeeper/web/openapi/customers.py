"""What customers are sent, and their part of the API; health and metrics."""

from __future__ import annotations

from turnkeeper.types import LEVELS, TurnStatus
from turnkeeper.web.customers import MessageBody
from turnkeeper.web.openapi.parts import (
    BOOLEAN,
    CONVERSATION,
    COUNT,
    JSON,
    KEY,
    PLACE,
    STREAM,
    TEXT,
    TIME,
    Operation,
    Schema,
    array,
    body_of,
    chosen,
    either,
    events,
    nullable,
    query,
    record,
    ref,
)

__all__ = ("OPERATIONS", "SCHEMAS")

_STATUS = [str(status) for status in TurnStatus]


def _item(kind: str, **fields: Schema) -> Schema:
    return record({"seq": COUNT, "at": TIME, "type": chosen(kind), **fields})


_ITEMS: dict[str, Schema] = {
    "MessageOfCustomer": _item("message", **{"from": chosen("customer"), "text": TEXT, "key": nullable(TEXT)}),
    "MessageToCustomer": _item("message", **{"from": chosen("staff", "model"), "text": TEXT, "html": TEXT}),
    "ReplyStarted": _item("reply_started", reply=COUNT),
    "ReplyDiscarded": _item("reply_discarded", reply=COUNT),
    "Reply": _item("reply", reply=COUNT, text=TEXT, html=TEXT),
    "Call": _item("call", call=COUNT, state=chosen("running", "waiting", "yours", "done", "failed", "declined")),
    "Waiting": _item("waiting", status=chosen("awaiting_approval", "awaiting_resolution")),
    "GoingOn": _item("going_on"),
    "Ended": _item("ended", status=chosen(*_STATUS)),
    "StaffPresence": _item("staff", present=BOOLEAN),
}

SCHEMAS: dict[str, Schema] = {
    "Error": record({"error": record({"code": TEXT, "message": TEXT})}, about="A refusal: a stable code, what to do."),
    "Session": record(
        {
            "kind": TEXT,
            "level": chosen(*LEVELS),
            "title": TEXT,
            "codes": {"type": "boolean", "description": "Whether something can be proven here, beside the chat."},
            "features": {"type": "object"},
        },
        about="Who the customer is to this door.",
    ),
    "Conversation": record(
        {
            "id": TEXT,
            "title": TEXT,
            "status": chosen("new", "running", *_STATUS),
            "created_at": TIME,
            "updated_at": TIME,
        }
    ),
    "Taken": record({"conversation": TEXT, "key": TEXT, "status": chosen("queued", "duplicate")}),
    "KeptBack": record(
        {"conversation": TEXT, "key": TEXT, "status": chosen("kept_back"), "outcome": TEXT, "text": TEXT},
        about="A message with a one-time code: what became of the code, in a word and in words for the customer.",
    ),
    **_ITEMS,
    "Item": either(*_ITEMS),
    "Delta": record(
        {"type": chosen("delta"), "reply": COUNT, "offset": COUNT, "text": TEXT},
        about="More of a reply that streams in: `text` begins at that character of it. Without an id.",
    ),
    "CaughtUp": record(
        {"type": chosen("caught_up"), "last": COUNT}, about="Everything that was there has been given. Without an id."
    ),
    "StreamEvent": either("Item", "Delta", "CaughtUp"),
}

_ONE = "/api/conversations/{conversation}"
OPERATIONS = (
    Operation(
        path="/api/session",
        method="post",
        name="begin_session",
        about="Begin a session; the one that the browser has, if it has one. Sets a cookie.",
        answers={200: (JSON, ref("Session"), "the session")},
        session=None,
    ),
    Operation(
        path="/api/session",
        method="get",
        name="show_session",
        about="Who the customer is.",
        answers={200: (JSON, ref("Session"), "the session")},
    ),
    Operation(
        path="/api/conversations",
        method="get",
        name="list_conversations",
        about="The customer's own conversations, the newest change first.",
        answers={200: (JSON, record({"conversations": array(ref("Conversation"))}), "the list, 200 at the most")},
    ),
    Operation(
        path="/api/conversations",
        method="post",
        name="new_conversation",
        about="An id for a new conversation, which begins with its first message.",
        answers={201: (JSON, record({"id": TEXT}), "the id")},
    ),
    Operation(
        path=_ONE,
        method="get",
        name="show_conversation",
        about="The conversation as it stands: the items of its event stream, all at once.",
        parameters=(CONVERSATION,),
        answers={200: (JSON, record({"id": TEXT, "last": COUNT, "items": array(ref("Item"))}), "the conversation")},
    ),
    Operation(
        path=f"{_ONE}/messages",
        method="post",
        name="send_message",
        about="Send a message. It is durable once it is answered; what comes of it comes on the event stream.",
        parameters=(CONVERSATION, KEY),
        body=body_of(MessageBody),
        answers={
            202: (
                JSON,
                {"oneOf": [ref("Taken"), ref("KeptBack")]},
                "it is durable, or was not for the model",
            )
        },
    ),
    Operation(
        path=f"{_ONE}/events",
        method="get",
        name="follow_conversation",
        about="The event stream: what there is, then what happens. Items have their `seq` as id, to come back to.",
        parameters=(CONVERSATION, *PLACE),
        answers={200: (STREAM, events(ref("StreamEvent")), "server-sent events; the data of each is one line of JSON")},
    ),
    Operation(
        path=f"{_ONE}/stop",
        method="post",
        name="stop_turn",
        about="End the turn that runs, as cancelled.",
        parameters=(CONVERSATION,),
        answers={202: (JSON, record({"stopped": BOOLEAN}), "whether there was one")},
    ),
    Operation(
        path=f"{_ONE}/export",
        method="get",
        name="export_conversation",
        about="The transcript, to keep: JSON, or Markdown (`text/markdown`).",
        parameters=(CONVERSATION, query("format", chosen("json", "markdown"), "What to export as.")),
        answers={200: (JSON, record({"conversation": TEXT, "items": array(ref("Item"))}), "the transcript")},
        others=("text/markdown",),
    ),
    Operation(
        path="/healthz",
        method="get",
        name="health",
        about="Whether conversations can be held.",
        answers={
            200: (JSON, record({"status": chosen("ok")}), "they can"),
            503: (JSON, {"anyOf": [record({"status": TEXT}), ref("Error")]}, "they can't, now"),
        },
        session=None,
    ),
    Operation(
        path="/metrics",
        method="get",
        name="metrics",
        about="Counters in Prometheus' text form: for staff, or with the metrics token.",
        answers={200: ("text/plain", TEXT, "the counters")},
        session="staff",
        token=True,
    ),
    Operation(
        path="/openapi.json",
        method="get",
        name="openapi",
        about="This document.",
        answers={200: (JSON, {"type": "object"}, "the document")},
        session=None,
    ),
)
