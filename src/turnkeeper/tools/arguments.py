"""A model's arguments, checked before a tool runs: mended where a slip is harmless, refused in words it can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from turnkeeper.errors import ArgumentsRejectedError
from turnkeeper.tools.schema_work import Work
from turnkeeper.tools.slips import ENDLESS, NOTHING, Fault, Path, Slips, are_endless
from turnkeeper.tools.wording import clean_value, cut, shown

if TYPE_CHECKING:
    import jsonschema_rs
    from pydantic import TypeAdapter

    from turnkeeper.tools.definition import Tool

__all__ = ("BroughtCheck", "Check", "TypedCheck", "check_arguments", "told")

_MOST_FAULTS = 12
_REASON_LIMIT = 300
_END = "Send the call again with this mended."


class Check(Protocol):
    """Turns a JSON object into keyword arguments, or into the faults that keep it from being them."""

    def __call__(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """Validate `given`, which is not changed."""
        ...


def check_arguments(tool: Tool[..., Any], input: Any) -> Mapping[str, Any]:  # noqa: A002 - the API's own word
    """The keyword arguments for `tool` from the `input` of a call; what the application binds is not among them.

    `input` should be a JSON object; text that holds one is read, and null counts as {} (compatible endpoints send
    both). Optional parameters that were not given, or given as null without being nullable, are absent: the function's
    own defaults hold. Raises ArgumentsRejectedError, whose text tells the model field, reason and value of each fault.
    """
    given = _as_object(input)
    if given is None:
        raise ArgumentsRejectedError(
            f"The arguments are not a JSON object, so the tool was not run; got {shown(input)}. {_END}"
        )
    try:
        arguments, faults = tool.check(given)
    except RecursionError:
        raise ArgumentsRejectedError(f"The arguments are nested too deeply, so the tool was not run. {_END}") from None
    if faults:
        raise ArgumentsRejectedError(told(faults, "The arguments don't fit the tool, so it was not run:", _END))
    return arguments


def _as_object(given: Any) -> dict[str, Any] | None:
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return None
    if given is None:
        return {}
    return given if isinstance(given, dict) else dict(given) if isinstance(given, Mapping) else None


def told(faults: list[Fault], head: str, end: str) -> str:
    """The faults as the model reads them, a line each, between two sentences."""
    lines = [head]
    for fault in faults[:_MOST_FAULTS]:
        given = "" if fault.value is NOTHING else f"; got {shown(fault.value)}"
        lines.append(f"- {_named(fault.path)}: {cut(fault.reason, _REASON_LIMIT)}{given}")
    if len(faults) > _MOST_FAULTS:
        lines.append(f"- and {len(faults) - _MOST_FAULTS} more")
    lines.append(end)
    text: str = clean_value("\n".join(lines))
    return text


def _named(path: Path) -> str:
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else step
    return cut(name, _REASON_LIMIT) or "the arguments"


class TypedCheck:
    """Arguments by type hints: mended by the schema, then validated and converted by pydantic."""

    __slots__ = ("_adapter", "_slips", "_validator")

    def __init__(self, adapter: TypeAdapter[dict[str, Any]], schema: dict[str, Any]) -> None:
        self._adapter = adapter
        self._validator = adapter.validator
        self._slips = Slips(schema)

    def __call__(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """Keyword arguments by parameter name, nested types built."""
        from pydantic import ValidationError  # noqa: PLC0415 - not for callers who bring schemas only

        mended, found = self._slips.mend(given)
        if are_endless(found):
            return {}, found
        try:
            arguments = self._validator.validate_python(mended)
        except ValidationError:
            try:
                # As JSON text: types that are strict about Python's own take it, and so lone surrogates are mended.
                text = json.dumps(clean_value(mended))
                arguments = self._validator.validate_json(text)
            except ValidationError as error:
                refused = [_from_pydantic(mended, detail) for detail in _details(error)]
                return {}, _merged(found, refused)
        hard = [fault for fault in found if fault.hard]
        return arguments, hard


def _details(error: Any) -> list[dict[str, Any]]:
    details: list[dict[str, Any]] = error.errors(include_url=False, include_context=False)
    return details


def _from_pydantic(given: Any, detail: Mapping[str, Any]) -> Fault:
    path, value = _real_path(given, detail["loc"])
    kind, message = detail["type"], str(detail["msg"])
    if kind == "missing":
        missing = str(detail["loc"][-1])
        path = path if path[-1:] == (missing,) else (*path, missing)
        return Fault(path, "is required, but was not given")
    if kind == "extra_forbidden":
        return Fault(path, "is unknown", value)
    for prefix in ("Value error, ", "Assertion failed, "):
        message = message.removeprefix(prefix)
    if message.startswith("Input should "):
        message = "must " + message.removeprefix("Input should ")
    return Fault(path, message, value)


def _real_path(given: Any, location: tuple[Any, ...]) -> tuple[Path, Any]:
    """The part of pydantic's location that is in the data, without the names of union members and validators."""
    path: list[str | int] = []
    value = given
    for step in location:
        in_object = isinstance(value, dict) and step in value
        if in_object or (isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)):
            value = value[step]
            path.append(step)
    return tuple(path), value


def _merged(found: list[Fault], refused: list[Fault]) -> list[Fault]:
    """One fault per place: our own words where we have them, else every reason that validation gave, joined."""
    merged = {fault.path: fault for fault in found if fault.hard}
    own = {fault.path: fault for fault in found}
    for fault in refused:
        place = next((path for path in _upwards(fault.path) if path in own), fault.path)
        if place in own:
            merged[place] = own[place]
        elif fault.path not in merged:
            merged[fault.path] = fault
        elif fault.reason not in merged[fault.path].reason.split(", or "):
            previous = merged[fault.path]
            merged[fault.path] = Fault(fault.path, f"{previous.reason}, or {fault.reason}", previous.value)
    return list(merged.values())


def _upwards(path: Path) -> list[Path]:
    return [path[:length] for length in range(len(path), 0, -1)]


class BroughtCheck:
    """Arguments by a JSON Schema that the tool brought: mended by it, then validated as they are.

    `whole` is what the validator judges by, `schema` what is sent of it. `hidden` names what is the application's: an
    argument of such a name is refused, however open the schema is.
    """

    __slots__ = ("_hidden", "_slips", "_validator", "_whole", "_work")

    def __init__(
        self,
        validator: jsonschema_rs.Draft202012Validator,
        schema: dict[str, Any],
        *,
        whole: Mapping[str, Any],
        hidden: frozenset[str],
    ) -> None:
        self._validator = validator
        self._whole = dict(whole)
        self._work = Work(self._whole)
        self._slips = Slips(schema)
        self._hidden = hidden

    def __call__(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
        """The mended object itself."""
        mended, found = self._slips.mend(given)
        if are_endless(found) or self._work.is_too_much(mended, self._whole):
            return {}, [Fault((), ENDLESS, hard=True)]
        try:
            refused = [self._fault(mended, error) for error in self._validator.iter_errors(mended)]
        except ValueError:
            # The validator's own limit on depth, far below Python's.
            refused = [Fault((), "are nested too deeply")]
        refused += [Fault((name,), "is unknown", mended[name]) for name in mended if name in self._hidden]
        faults = _merged(found, refused)
        return ({}, faults) if faults else (mended, [])

    @staticmethod
    def _fault(given: Any, error: jsonschema_rs.ValidationError) -> Fault:
        path, value = _real_path(given, tuple(error.instance_path))
        detail = error.kind.as_dict()
        if error.kind.name == "required":
            return Fault((*path, str(detail.get("property"))), "is required, but was not given")
        message = str(error.message).removeprefix("the value ")
        return Fault(
            path, message.replace("is not", "must be", 1) if message.startswith("is not of") else message, value
        )
