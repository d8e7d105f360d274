"""What customers prove and confirm beside the chat, where the service has a desk's door; 404 where it has none."""

from __future__ import annotations

from pydantic import BaseModel

from turnkeeper.types import LEVELS
from turnkeeper.web.openapi.parts import (
    BOOLEAN,
    CONVERSATION,
    COUNT,
    JSON,
    TEXT,
    TIME,
    Operation,
    Schema,
    array,
    body_of,
    chosen,
    nullable,
    record,
    ref,
)
from turnkeeper.web.proofs import CardBody, CodeBody, ContactBody, NoBody, TokenBody

__all__ = ("OPERATIONS", "SCHEMAS")

SCHEMAS: dict[str, Schema] = {
    "Proof": record(
        {
            "level": chosen(*LEVELS),
            "admitted": BOOLEAN,
            "code": nullable(record({"purpose": TEXT, "expires_at": TIME, "tries_left": COUNT, "sent_to": TEXT})),
            "new_contact": BOOLEAN,
            "cards": array(ref("Card")),
        },
        about="Who the customer is in this conversation, the code that is waited for, what they are to confirm.",
    ),
    "Card": record(
        {
            "id": TEXT,
            "digest": TEXT,
            "action": TEXT,
            "facts": array(record({"name": TEXT, "value": TEXT})),
            "by": chosen("code", "button"),
            "expires_at": TIME,
        },
        about="A call of the customer's own that waits for them.",
    ),
    "Asked": record(
        {"refused": nullable(record({"code": TEXT, "text": TEXT})), "proof": ref("Proof")},
        about="Why it was not done, in words for the customer, or null; and how things stand now.",
    ),
}

_ONE = "/api/conversations/{conversation}/proof"


def _asked(path: str, name: str, about: str, body: type[BaseModel]) -> Operation:
    return Operation(
        path=f"{_ONE}/{path}",
        method="post",
        name=name,
        about=about,
        parameters=(CONVERSATION,),
        body=body_of(body),
        answers={200: (JSON, ref("Asked"), "whether it was done")},
    )


OPERATIONS = (
    Operation(
        path=_ONE,
        method="get",
        name="show_proof",
        about="What the page shows beside the conversation.",
        parameters=(CONVERSATION,),
        answers={200: (JSON, ref("Proof"), "how things stand")},
    ),
    Operation(
        path=f"{_ONE}/code",
        method="post",
        name="enter_code",
        about="Try a one-time code; the same one twice is answered alike.",
        parameters=(CONVERSATION,),
        body=body_of(CodeBody),
        answers={
            200: (
                JSON,
                record({"outcome": TEXT, "text": TEXT, "purpose": nullable(TEXT), "proof": ref("Proof")}),
                "what became of it",
            )
        },
    ),
    _asked("again", "send_code_again", "Have the last code sent once more.", NoBody),
    _asked("new-contact", "send_code_to_new_contact", "Have a code sent to the new contact of a change.", NoBody),
    _asked("contact", "send_code_to_account", "Have a code sent to the account that is one's own.", ContactBody),
    _asked("card", "decide_card", "Confirm or withdraw one's own call, with the digest of what was shown.", CardBody),
    Operation(
        path="/api/session/sign-in",
        method="post",
        name="sign_in_customer",
        about="Sign in with a token of the identity provider; the cookie is made anew.",
        body=body_of(TokenBody),
        answers={200: (JSON, record({"signed_in": BOOLEAN}), "done")},
    ),
    Operation(
        path="/api/session/leave",
        method="post",
        name="leave",
        about="End the session: nothing that was proven in it counts any more.",
        body=body_of(NoBody),
        answers={200: (JSON, record({"left": BOOLEAN}), "done")},
    ),
)
