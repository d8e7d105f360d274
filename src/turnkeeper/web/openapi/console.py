"""The console's part of the API: for staff, and for programs that act for them."""

from __future__ import annotations

from turnkeeper.types import TurnStatus
from turnkeeper.web.console import SignInBody
from turnkeeper.web.console_conversations import AnswerBody
from turnkeeper.web.console_inbox import DecisionBody, OutcomeBody
from turnkeeper.web.openapi.parts import (
    BOOLEAN,
    COUNT,
    JSON,
    NUMBER,
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
    number,
    query,
    record,
    ref,
)

__all__ = ("OPERATIONS", "SCHEMAS")

_FIGURES: dict[str, Schema] = {
    "requests": NUMBER,
    "input_tokens": COUNT,
    "cached_tokens": COUNT,
    "written_tokens": COUNT,
    "output_tokens": COUNT,
    "cost": {"type": "string", "description": "US dollars, as a decimal number."},
    "priced": {"type": "boolean", "description": "Whether every model in it has a known price."},
}
_LINE: dict[str, Schema] = {
    "id": TEXT,
    "title": TEXT,
    "principal": nullable(ref("Person")),
    "status": chosen("new", "running", *(str(status) for status in TurnStatus)),
    "taken_over": nullable(TEXT),
    "waiting": nullable(record({"for": TEXT, "since": TIME})),
    "turns": COUNT,
    "events": COUNT,
    "cost": TEXT,
    "priced": BOOLEAN,
    "readable": BOOLEAN,
    "created_at": TIME,
    "updated_at": TIME,
}
_WAITS: dict[str, Schema] = {
    "conversation": TEXT,
    "call": TEXT,
    "tool": TEXT,
    "effect": nullable(TEXT),
    "text": {"type": "string", "description": "The arguments as JSON text."},
    "requester": nullable(ref("Person")),
    "obstacle": {"description": "Why whoever asks may not decide on it; null where they may.", **nullable(TEXT)},
}
_EVENT = {"seq": COUNT, "at": TIME, "type": TEXT}
_NEXT = {"description": "The offset of the next page, null on the last one.", **nullable(COUNT)}

SCHEMAS: dict[str, Schema] = {
    "Person": record({"kind": TEXT, "id": TEXT, "level": TEXT}),
    "StaffSession": record(
        {
            "name": TEXT,
            "way": chosen("password", "proxy", "demo", "none"),
            "expires_at": nullable(TIME),
            "now": TIME,
            "title": TEXT,
        }
    ),
    "Line": record(_LINE),
    "Found": record({**_LINE, "found": TEXT}),
    "Event": {
        "type": "object",
        "description": "An event of the journal with its own fields; characters that nobody sees are written out.",
        "properties": _EVENT,
        "required": list(_EVENT),
        "additionalProperties": True,
    },
    "CallProgress": record(
        {"type": chosen("progress"), "call_id": TEXT, "message": TEXT, "fraction": nullable(NUMBER)}
    ),
    "StaffStreamEvent": {"anyOf": [*either("Event", "Delta", "CaughtUp", "CallProgress")["oneOf"]]},
    "Change": record({"type": chosen("changed"), "at": TIME}),
    "Approval": record(
        {
            "id": TEXT,
            **_WAITS,
            "digest": TEXT,
            "policy": TEXT,
            "policy_version": nullable(TEXT),
            "requested_at": TIME,
            "expires_at": TIME,
            "requester_level": nullable(TEXT),
        }
    ),
    "UnknownOutcome": record({**_WAITS, "key": TEXT, "started_at": TIME}),
    "Figures": record(_FIGURES),
    "Usage": record(
        {
            "since": TEXT,
            "until": TEXT,
            "complete": BOOLEAN,
            "left_out": BOOLEAN,
            "conversations": COUNT,
            "total": ref("Figures"),
            "days": array(record({"day": TEXT, **_FIGURES})),
            "models": array(record({"model": TEXT, **_FIGURES})),
            "tools": array(record({"tool": TEXT, **_FIGURES})),
            "dearest": array(record({"id": TEXT, **_FIGURES})),
        }
    ),
    "Entry": record(
        {
            "at": TIME,
            "what": TEXT,
            "who": nullable(ref("Person")),
            "conversation": nullable(TEXT),
            "seq": nullable(COUNT),
            "tool": TEXT,
            "about": TEXT,
        }
    ),
}

_ID = {
    "name": "conversation",
    "in": "path",
    "required": True,
    "description": "The conversation's id, percent-encoded.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_SEQ = {"name": "seq", "in": "path", "required": True, "description": "The event's number.", "schema": COUNT}
_OFFSET = number("offset", 10_000_000, 0, "Where the page begins.")
_DAYS = number("days", 400, 30, "How many days back.")
_MONTH = query("month", {"type": "string", "pattern": "^(19[789]|2[0-9]{2})[0-9]-(0[2-9]|1[0-2])$"}, "Such as 2026-12.")
_ONE = "/api/console/conversations/{conversation}"


def _staff(  # noqa: PLR0913 - options by name
    method: str,
    path: str,
    name: str,
    about: str,
    schema: Schema,
    *,
    status: int = 200,
    media: str = JSON,
    body: Schema | None = None,
    parameters: tuple[Schema, ...] = (),
    session: str | None = "staff",
) -> Operation:
    return Operation(
        path=path if path.startswith("/") else f"/api/console/{path}",
        method=method,
        name=name,
        about=about,
        answers={status: (media, schema, "done" if method != "get" else "found")},
        body=body,
        parameters=parameters,
        session=session,
    )


OPERATIONS = (
    _staff(
        "post",
        "session",
        "sign_in",
        "Sign in as staff; sets a cookie of the staff's own.",
        ref("StaffSession"),
        body=body_of(SignInBody),
        session=None,
    ),
    _staff("get", "session", "show_staff_session", "Who one is to the console.", ref("StaffSession")),
    _staff("delete", "session", "sign_out", "End the session.", record({"signed_out": BOOLEAN})),
    _staff("get", "changes", "follow_changes", "Says when anything changed.", events(ref("Change")), media=STREAM),
    _staff(
        "get",
        "conversations",
        "list_all_conversations",
        "A page of all conversations.",
        record({"conversations": array(ref("Line")), "next": _NEXT, "now": TIME}),
        parameters=(
            query("show", chosen("all", "waiting"), "All, the newest change first; or those that wait for a person."),
            _OFFSET,
            number("limit", 100, 50, "How many."),
        ),
    ),
    _staff(
        "get",
        "search",
        "search",
        "Look for a text among names, or in what was said; one request looks at a part.",
        record({"conversations": array(ref("Found")), "next": _NEXT, "now": TIME}),
        parameters=(
            query("q", {"type": "string", "minLength": 1, "maxLength": 200}, "The text.", required=True),
            query("in", chosen("names", "messages"), "Where."),
            _OFFSET,
        ),
    ),
    _staff(
        "get",
        _ONE,
        "show_transcript",
        "Every event of a conversation.",
        record({"id": TEXT, "last": COUNT, "items": array(ref("Event")), "now": TIME}),
        parameters=(_ID,),
    ),
    _staff(
        "get",
        f"{_ONE}/events",
        "follow_transcript",
        "The event stream, with the progress of calls.",
        events(ref("StaffStreamEvent")),
        media=STREAM,
        parameters=(_ID, *PLACE),
    ),
    _staff("get", f"{_ONE}/events/{{seq}}", "show_event", "One event, whole.", ref("Event"), parameters=(_ID, _SEQ)),
    _staff(
        "post",
        f"{_ONE}/stop",
        "staff_stop_turn",
        "End the turn that runs or waits.",
        record({"stopped": BOOLEAN}),
        status=202,
        parameters=(_ID,),
    ),
    _staff(
        "post",
        f"{_ONE}/take-over",
        "take_over",
        "Answer in the model's place from now on.",
        record({"taken_over": TEXT}),
        parameters=(_ID,),
    ),
    _staff(
        "post",
        f"{_ONE}/hand-back",
        "hand_back",
        "Leave the conversation to the model again.",
        record({"taken_over": {"type": "null"}}),
        parameters=(_ID,),
    ),
    _staff(
        "post",
        f"{_ONE}/messages",
        "answer_in_person",
        "Say something to the customer of a conversation that one has taken over.",
        record({"said": BOOLEAN}),
        status=201,
        body=body_of(AnswerBody),
        parameters=(_ID,),
    ),
    _staff(
        "get",
        "inbox",
        "show_inbox",
        "Calls that wait for a decision, and those whose outcome nobody knows.",
        record(
            {
                "approvals": array(ref("Approval")),
                "outcomes": array(ref("UnknownOutcome")),
                "next": _NEXT,
                "now": TIME,
            }
        ),
        parameters=(query("conversation", {"type": "string", "minLength": 1, "maxLength": 255}, "Only its."), _OFFSET),
    ),
    _staff(
        "post",
        "approvals",
        "decide",
        "Approve, edit or deny a call, with the digest of the arguments that were looked at.",
        record({"id": TEXT, "decision": chosen("approve", "edit", "deny"), "by": TEXT}),
        body=body_of(DecisionBody),
    ),
    _staff(
        "post",
        "outcomes",
        "resolve",
        "Say whether a call's effect happened; if it did not, the call runs now.",
        record({"call": TEXT, "happened": BOOLEAN, "by": TEXT}),
        body=body_of(OutcomeBody),
    ),
    _staff("get", "usage", "show_usage", "What was spent.", ref("Usage"), parameters=(_DAYS,)),
    _staff("get", "usage.csv", "usage_csv", "The same as a table.", TEXT, media="text/csv", parameters=(_DAYS,)),
    _staff(
        "get",
        "audit",
        "show_record",
        "What people did in a month, the newest first.",
        record(
            {
                "month": TEXT,
                "before": TEXT,
                "complete": BOOLEAN,
                "left_out": BOOLEAN,
                "entries": array(ref("Entry")),
                "next": _NEXT,
                "now": TIME,
            }
        ),
        parameters=(_MONTH, _OFFSET, number("limit", 500, 100, "How many.")),
    ),
    _staff("get", "audit.csv", "record_csv", "The same as a table.", TEXT, media="text/csv", parameters=(_MONTH,)),
)
