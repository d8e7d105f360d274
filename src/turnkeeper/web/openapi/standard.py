"""The standard streams, where they are mounted: their protocols' own documents say what is in them."""

from __future__ import annotations

from turnkeeper.web.openapi.parts import (
    BOOLEAN,
    CONVERSATION,
    JSON,
    STREAM,
    TEXT,
    Operation,
    Schema,
    array,
    chosen,
    events,
    query,
    record,
    ref,
)

__all__ = ("OPERATIONS", "SCHEMAS")

_SENT: Schema = {
    "type": "object",
    "description": "Of the messages that are sent, the user's newest is read, and nothing else.",
    "properties": {"id": TEXT, "role": TEXT, "content": {}, "parts": {}},
    "required": ["id", "role"],
}
_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_TYPED: Schema = {"type": "object", "properties": {"type": TEXT}, "required": ["type"], "additionalProperties": True}

SCHEMAS: dict[str, Schema] = {
    "RunAgentInput": {
        "type": "object",
        "properties": {
            "threadId": CONVERSATION["schema"],
            "runId": _ID,
            "parentRunId": {"anyOf": [_ID, {"type": "null"}]},
            "protocolVersion": {"anyOf": [TEXT, {"type": "null"}]},
            "messages": array(_SENT),
            "resume": {
                "anyOf": [
                    array(
                        {
                            "type": "object",
                            "properties": {
                                "interruptId": TEXT,
                                "status": chosen("resolved", "cancelled"),
                                "payload": {},
                            },
                            "required": ["interruptId", "status"],
                        }
                    ),
                    {"type": "null"},
                ]
            },
        },
        "required": ["threadId", "runId", "messages"],
    },
    "ChatInput": {
        "type": "object",
        "properties": {
            "id": CONVERSATION["schema"],
            "messages": array(_SENT),
            "trigger": {"anyOf": [TEXT, {"type": "null"}]},
        },
        "required": ["id", "messages"],
    },
    "AGUIEvent": {"description": "An event of AG-UI 1.0: https://docs.ag-ui.com/spec/1.0", **_TYPED},
    "UIMessagePart": {"description": "A part of the AI SDK's UI message stream, version 1.", **_TYPED},
    "UIMessage": record({"id": TEXT, "role": chosen("user", "assistant"), "parts": array(_TYPED)}),
}


def _operations(*, staff: bool) -> tuple[Operation, ...]:
    where, word = ("/api/console", "staff_") if staff else ("/api", "")
    session = "staff" if staff else "customer"
    one = f"{where}/chat/{{conversation}}"
    return (
        Operation(
            path=f"{where}/agui",
            method="post",
            name=f"{word}run_agent",
            about="An AG-UI run: begin, go on, or tell it once more.",
            body=ref("RunAgentInput"),
            answers={200: (STREAM, events(ref("AGUIEvent")), "the run's events")},
            session=session,
        ),
        Operation(
            path=f"{where}/chat",
            method="post",
            name=f"{word}chat",
            about="The AI SDK's chat: the newest message in, the parts of its answer out.",
            body=ref("ChatInput"),
            answers={200: (STREAM, events(ref("UIMessagePart"), end="[DONE]"), "the answer's parts")},
            session=session,
        ),
        Operation(
            path=f"{one}/stream",
            method="get",
            name=f"{word}resume_chat",
            about="The answer that is under way, from its beginning.",
            parameters=(CONVERSATION, query("again", chosen("1"), "Tell the last answer also when it is over.")),
            answers={
                200: (STREAM, events(ref("UIMessagePart"), end="[DONE]"), "the answer's parts"),
                204: ("", {}, "no answer is under way"),
            },
            session=session,
        ),
        Operation(
            path=f"{one}/stop",
            method="post",
            name=f"{word}stop_chat",
            about="End the turn that runs.",
            parameters=(CONVERSATION,),
            answers={202: (JSON, record({"stopped": BOOLEAN}), "whether there was one")},
            session=session,
        ),
        Operation(
            path=f"{one}/messages",
            method="get",
            name=f"{word}chat_messages",
            about="The messages so far.",
            parameters=(CONVERSATION,),
            answers={200: (JSON, record({"id": TEXT, "messages": array(ref("UIMessage"))}), "the messages")},
            session=session,
        ),
    )


OPERATIONS = (*_operations(staff=False), *_operations(staff=True))
