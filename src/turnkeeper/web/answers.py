"""Answers in JSON, and what becomes of errors: a stable code, a text that says what to do, nothing of the inside."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from turnkeeper.errors import (
    ApprovalDecidedError,
    ApprovalExpiredError,
    ApprovalRefusedError,
    ArgumentsRejectedError,
    ConversationBusyError,
    InputError,
    TurnkeeperError,
    UnconfirmedError,
    UnknownApprovalError,
    UnknownConversationError,
)
from turnkeeper.wire.json import MOST_NESTED, decode, encode

if TYPE_CHECKING:
    from turnkeeper.web.sessions import Session

__all__ = ("Body", "JSONAnswer", "RefusedError", "handlers", "read_body", "refusal", "unforeseen")

_log = logging.getLogger("turnkeeper.web")

_STATUS: tuple[tuple[type[TurnkeeperError], int], ...] = (
    (UnknownConversationError, 404),
    (UnknownApprovalError, 404),
    (ApprovalDecidedError, 409),
    (ApprovalExpiredError, 409),
    (ConversationBusyError, 409),
    (ApprovalRefusedError, 403),
    (UnconfirmedError, 403),
    (ArgumentsRejectedError, 422),
    (InputError, 422),
)


class RefusedError(Exception):
    """A request that is answered with this status and code; `message` says what to do.

    `session` is one that the browser gets with the answer.
    """

    def __init__(
        self, status: int, code: str, message: str, *, wait: float = 0.0, session: Session | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.wait, self.session = status, code, wait, session


class JSONAnswer(JSONResponse):
    """JSON as the journal writes it: real characters, and none that UTF-8 can't carry."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return encode(content).encode()


class Body(BaseModel):
    """Base of all request bodies: what they don't know, they refuse."""

    model_config = ConfigDict(extra="forbid", strict=True)


B = TypeVar("B", bound=Body)


async def read_body(request: Request, kind: type[B]) -> B:
    """The request's JSON body. RefusedError: not JSON (415, 400), or not what is wanted (422, with the place)."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise RefusedError(415, "media_type", "send JSON, with Content-Type: application/json")
    try:
        value = decode((await request.body()).decode() or "{}", most_nested=MOST_NESTED)
    except ValueError:
        raise RefusedError(400, "not_json", "the body is not JSON") from None
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(one) for one in first["loc"]) or "the body"
        raise RefusedError(422, "input", f"{place}: {first['msg']}") from None


def refusal(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None, *, wait: float = 0.0
) -> Response:
    """The one form that errors have. `wait`: after so many seconds it may be tried again."""
    later = {"retry-after": str(int(min(wait, 3600)) + 1)} if wait else {}
    return JSONAnswer({"error": {"code": code, "message": message}}, status, headers={**(headers or {}), **later})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    response = refusal(error.status, error.code, str(error), wait=error.wait)
    if error.session is not None:
        request.app.state.door.sessions.put(response, request, error.session)
    return response


async def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, TurnkeeperError)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    if status == 503:
        return _hidden(request.scope, error, status, "unavailable")
    return refusal(status, error.code, str(error))


async def _http(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, "not_found" if error.status_code == 404 else "http", error.detail, error.headers)


def unforeseen(scope: Scope, error: Exception) -> Response:
    """The answer where something broke."""
    return _hidden(scope, error, 500, "internal")


def _hidden(scope: Scope, error: Exception, status: int, code: str) -> Response:
    """An error whose text is for the log only."""
    error_id = uuid.uuid4().hex[:8]
    _log.error("%s %s failed (error %s)", scope["method"], scope["path"], error_id, exc_info=error)
    return refusal(status, code, f"this could not be done now; the log tells why (error {error_id})")


handlers: dict[Any, Any] = {
    RefusedError: _refused,
    TurnkeeperError: _of_ours,
    HTTPException: _http,
}
"""For Starlette's `exception_handlers`; whatever else is raised, the guard answers (`unforeseen`)."""
