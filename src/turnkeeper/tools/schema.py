"""The JSON Schema of a function's visible parameters, and the pydantic validator that belongs to it."""

from __future__ import annotations

import collections.abc
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any

import typing_extensions
from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaError, to_jsonable_python

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.schema_tree import SchemaTree, walk
from turnkeeper.tools.signature import EMPTY, Parameter
from turnkeeper.tools.wording import clean_value

__all__ = ("schema_of", "validator_for")


# Made from values at run time, which type checkers don't follow.
_make: Any = typing_extensions.TypedDict


_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)


class _Generator(GenerateJsonSchema):
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default", "skipped-discriminator"}  # noqa: RUF012

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        """Refuse `type[…]`: no JSON value is a class, whatever schema stands for it."""
        return self.handle_invalid_for_json_schema(schema, "a class")


def validator_for(
    parameters: tuple[Parameter, ...], where: str, names: Mapping[str, Any]
) -> TypeAdapter[dict[str, Any]]:
    """A validator from a JSON object to keyword arguments; extra keys are refused.

    `names` are the local names around the tool, for types whose own annotations are still to be resolved.
    """
    try:
        return _adapter(parameters, names)
    except (PydanticUserError, SchemaError, TypeError, ValueError, NameError, RecursionError) as error:
        for parameter in parameters:
            try:
                _adapter((parameter,), names)
            except (PydanticUserError, SchemaError, TypeError, ValueError, NameError, RecursionError) as cause:
                raise ToolDefinitionError(_refusal(where, parameter, cause)) from cause
        raise ToolDefinitionError(
            f"{where}: its parameters can't be described together: {_first_line(error)}"
        ) from error


def schema_of(
    parameters: tuple[Parameter, ...],
    adapter: TypeAdapter[dict[str, Any]],
    described: Mapping[str, str],
    where: str,
) -> dict[str, Any]:
    """The schema to send: one closed object, every `$ref` inside it, no titles, the docstring's descriptions added."""
    try:
        schema = adapter.json_schema(schema_generator=_Generator, mode="validation")
    except (PydanticUserError, TypeError, ValueError, RecursionError) as error:
        for parameter in parameters:
            try:
                TypeAdapter(parameter.hint).json_schema(schema_generator=_Generator)
            except (PydanticUserError, TypeError, ValueError, NameError, RecursionError) as cause:
                raise ToolDefinitionError(_refusal(where, parameter, cause)) from cause
        raise ToolDefinitionError(f"{where}: its parameters have no JSON Schema: {_first_line(error)}") from error
    schema = clean_value(schema)
    for _, part in walk(schema):
        part.pop("title", None)
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    schema.setdefault("properties", {})
    # A typed dictionary keeps the order of its fields, whatever alias a field goes by.
    properties = schema["properties"].values()
    tree = SchemaTree(schema)
    for parameter, part in zip(parameters, properties, strict=True):
        description = described.get(parameter.name) or _bare_description(parameter.hint)
        if description and "description" not in part:
            part["description"] = clean_value(description)
        if parameter.default is not EMPTY and "default" not in part:
            _add_default(part, parameter.default, nullable="null" in tree.kinds(part))
    order = ("type", "description", "properties", "required", "additionalProperties", "$defs")
    schema["type"] = "object"
    schema["additionalProperties"] = False
    return {key: schema[key] for key in (*order, *sorted(set(schema) - set(order))) if key in schema}


def _field(parameter: Parameter, made: dict[int, Any]) -> Any:
    hint, default = _portable(parameter.hint, made), parameter.default
    if isinstance(default, FieldInfo):
        return typing_extensions.Required[Annotated[hint, default]]
    if default is EMPTY and not _brings_default(hint):
        return typing_extensions.Required[hint]
    return typing_extensions.NotRequired[hint]


def _brings_default(hint: Any) -> bool:
    return any(isinstance(extra, FieldInfo) and not extra.is_required() for extra in getattr(hint, "__metadata__", ()))


def _adapter(parameters: tuple[Parameter, ...], names: Mapping[str, Any]) -> TypeAdapter[dict[str, Any]]:
    made: dict[int, Any] = {}
    fields = {parameter.name: _field(parameter, made) for parameter in parameters}
    shape: Any = _make("Arguments", fields)
    shape.__pydantic_config__ = ConfigDict(extra="forbid")
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)
    if not adapter.pydantic_complete:
        # Some type has annotations of its own that only the scope around the tool can resolve.
        adapter.rebuild(force=True, raise_errors=True, _types_namespace=dict(names))
    return adapter


def _refusal(where: str, parameter: Parameter, error: Exception) -> str:
    shown = getattr(parameter.hint, "__name__", None) or repr(parameter.hint)
    return (
        f"{where}: parameter {parameter.name!r} of type {shown} has no JSON Schema ({_first_line(error)}): use "
        "JSON types, a pydantic model, a dataclass or a TypedDict; or mark what the application binds as "
        "Injected[…]; or bring a schema of your own: tool(schema=…)"
    )


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it refers to itself without end; name it with a type statement or use a model"
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    # What follows is advice for authors of models, not of tools.
    return first.partition(". Set `")[0]


def _bare_description(hint: Any) -> str | None:
    """`Annotated[str, "what it is"]`, as other libraries write it."""
    return next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), None)


def _add_default(part: dict[str, Any], default: Any, *, nullable: bool) -> None:
    if isinstance(default, FieldInfo) or (default is None and not nullable):
        return
    try:
        shown = to_jsonable_python(default)
    except (ValueError, TypeError, RecursionError):
        return
    if isinstance(shown, float) and not math.isfinite(shown):
        return
    part["default"] = clean_value(shown)


def _portable(hint: Any, made: dict[int, Any]) -> Any:
    """`hint` in a form that is validated whole and at once.

    Before Python 3.12 pydantic can only read the backport's TypedDict, so those of `typing` are rebuilt. An iterable
    would be validated while the tool reads it, so it is taken as a list.
    """
    if sys.version_info < (3, 12) and typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        return _rebuilt(hint, made)
    if (typing.get_origin(hint) or hint) in _LAZY:
        item, *_ = typing.get_args(hint) or (Any,)
        return types.GenericAlias(list, (_portable(item, made),))
    arguments = typing.get_args(hint)
    if not arguments or typing.get_origin(hint) is typing.Literal:
        return hint
    if typing.get_origin(hint) is Annotated:
        return Annotated[(_portable(hint.__origin__, made), *hint.__metadata__)]
    changed = tuple(_portable(argument, made) for argument in arguments)
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return hint
    if isinstance(hint, types.UnionType):
        return typing.Union[changed]  # noqa: UP007 - made from a tuple
    return hint.copy_with(changed) if hasattr(hint, "copy_with") else typing.get_origin(hint)[changed]


def _rebuilt(hint: Any, made: dict[int, Any]) -> Any:
    if id(hint) in made:
        return made[id(hint)]
    shape: Any = _make(hint.__name__, {})
    made[id(hint)] = shape
    for attribute in ("__doc__", "__module__", "__qualname__", "__pydantic_config__"):
        if hasattr(hint, attribute):
            setattr(shape, attribute, getattr(hint, attribute))
    fields, required = {}, set()
    marked = {True: typing_extensions.Required, False: typing_extensions.NotRequired}
    for name, field in typing.get_type_hints(hint, include_extras=True).items():
        # With postponed annotations the class itself couldn't see its Required and NotRequired marks.
        needed = name in hint.__required_keys__
        while (mark := typing.get_origin(field)) in {typing.Required, typing.NotRequired}:
            needed = mark is typing.Required
            (field,) = typing.get_args(field)  # noqa: PLW2901 - the mark comes off
        fields[name] = marked[needed][_portable(field, made)]
        required |= {name} if needed else set()
    shape.__annotations__ = fields
    shape.__required_keys__, shape.__optional_keys__ = frozenset(required), frozenset(set(fields) - required)
    return shape
