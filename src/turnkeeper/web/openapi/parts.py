"""How the document is written down: schemas in a few words, and one operation after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

__all__ = (
    "ANYTHING",
    "BOOLEAN",
    "CONVERSATION",
    "COUNT",
    "JSON",
    "KEY",
    "NUMBER",
    "PLACE",
    "STREAM",
    "TEXT",
    "TIME",
    "Operation",
    "Schema",
    "array",
    "body_of",
    "chosen",
    "either",
    "events",
    "header",
    "nullable",
    "number",
    "query",
    "record",
    "ref",
)

Schema = dict[str, Any]

JSON, STREAM = "application/json", "text/event-stream"
ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "number", "description": "Seconds since 1970, UTC."}


def ref(name: str) -> Schema:
    """A schema of the document, by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(fields: Mapping[str, Schema], *, optional: Sequence[str] = (), about: str = "") -> Schema:
    """An object with these fields and no other; all but the optional ones are always there."""
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def array(of: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": of}


def nullable(of: Schema) -> Schema:
    """That, or null."""
    return {"anyOf": [of, {"type": "null"}]}


def chosen(*values: Any) -> Schema:
    """One of these values."""
    return {"const": values[0]} if len(values) == 1 else {"enum": list(values)}


def either(*names: str) -> Schema:
    """One of the named schemas, told apart by `type`."""
    return {"oneOf": [ref(name) for name in names]}


def events(data: Schema, *, end: str | None = None) -> Schema:
    """Server-sent events, each with that as JSON text in its `data`; `end` is the last one's, where it has a mark."""
    text: Schema = {"type": "string", "contentMediaType": JSON, "contentSchema": data}
    form = text if end is None else {"anyOf": [chosen(end), text]}
    return {"type": "object", "properties": {"data": form, "id": TEXT}, "required": ["data"]}


def _parameter(name: str, place: str, schema: Schema, about: str, *, required: bool) -> Schema:
    return {"name": name, "in": place, "required": required, "description": about, "schema": schema}


def query(name: str, schema: Schema, about: str, *, required: bool = False) -> Schema:
    """A parameter in the address."""
    return _parameter(name, "query", schema, about, required=required)


def number(name: str, most: int, default: int, about: str) -> Schema:
    """A number in the address, from 0; what is more than the most is taken for it."""
    return query(name, {"type": "integer", "minimum": 0, "maximum": most, "default": default}, about)


def header(name: str, schema: Schema, about: str, *, required: bool = False) -> Schema:
    """A request header."""
    return _parameter(name, "header", schema, about, required=required)


CONVERSATION = _parameter(
    "conversation",
    "path",
    {"type": "string", "pattern": "^[A-Za-z0-9_.:@+-]{1,128}$"},
    "The conversation's id.",
    required=True,
)
KEY = header(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[!-~]([ -~]{0,198}[!-~])?$"},
    "The sender's own id for the message: sent again with the same text, it is a duplicate, and nothing happens.",
    required=True,
)
PLACE = [
    header(
        "Last-Event-ID",
        TEXT,
        "The `id` of the last event that the reader has; what is no number of this conversation gives everything.",
    ),
    query("after", COUNT, "The same, for readers that can't send the header; the header wins."),
]


def body_of(model: type[BaseModel]) -> Schema:
    """The schema of a body as the handler checks it."""
    found: Schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    found.pop("title", None)
    for one in found.get("properties", {}).values():
        one.pop("title", None)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One path with its method. `answers` has (media type, schema, what it is) by status; refusals need none.

    `session` is whose cookie is needed: `customer`, `staff`, or None; with `token` a bearer token does as well.
    `others` are further media types of the answers, which are text.
    """

    path: str
    method: str
    name: str
    about: str
    answers: Mapping[int, tuple[str, Schema, str]]
    body: Schema | None = None
    parameters: Sequence[Schema] = field(default=())
    session: str | None = "customer"
    token: bool = False
    others: Sequence[str] = field(default=())
