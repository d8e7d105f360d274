"""`@tool` and `Tool`: a function together with everything that is said about it."""

from __future__ import annotations

import copy
import dataclasses
import functools
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, Generic, overload

from anyio.lowlevel import RunVar
from typing_extensions import ParamSpec, TypeVar, Unpack

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.arguments import BroughtCheck, Check, TypedCheck
from turnkeeper.tools.brought import schema_to_send, validator_of
from turnkeeper.tools.docstring import read_docstring
from turnkeeper.tools.options import CallOptions, Options, ToolOptions, check_name, check_options, read_options
from turnkeeper.tools.schema import schema_of, validator_for
from turnkeeper.tools.signature import (
    EMPTY,
    Binding,
    Callee,
    Shape,
    defining_frames,
    local_names,
    read_callee,
    read_shape,
)
from turnkeeper.tools.strict import strict_form
from turnkeeper.tools.wording import clean
from turnkeeper.types import Effect

if TYPE_CHECKING:
    import anyio

__all__ = ("Tool", "tool")

logger = logging.getLogger("turnkeeper.tools")

P = ParamSpec("P", default=...)
R_co = TypeVar("R_co", covariant=True, default=Any)

# Not in the docs, but reported as the API's answer for keys at the top level of a tool's properties.
_PROPERTY_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool(Generic[P, R_co]):
    """A function that the model may call. Make one with `@tool`, `Tool.from_function` or `Tool.from_schema`.

    It still is the plain function when called, and a method when it was defined in a class. `definition` is what a
    request's `tools` carries. The other fields are what was said to `tool()`, which describes them.
    """

    function: Callable[..., Any] = field(repr=False)
    name: str
    description: str = field(repr=False)
    input_schema: dict[str, Any] = field(repr=False)
    effect: Effect
    approval: Any = field(repr=False)
    timeout: float | None = field(repr=False)
    retries: int = field(repr=False)
    concurrency: int | None = field(repr=False)
    parallel: bool = field(repr=False)
    requires: str | None = field(repr=False)
    untrusted: bool = field(repr=False)
    when_untrusted: str | Callable[..., Any] = field(repr=False)
    strict: bool = field(repr=False)
    result_limit: int = field(repr=False)
    reconcile: Callable[..., Any] | None = field(repr=False)
    shape: Shape = field(repr=False)
    check: Check = field(repr=False)
    binding: Binding = field(repr=False)
    slots: RunVar[anyio.Semaphore] = field(repr=False)

    @property
    def definition(self) -> dict[str, Any]:
        """A fresh copy of what goes into the request's `tools`."""
        definition: dict[str, Any] = {"name": self.name}
        if self.description.strip():
            definition["description"] = self.description
        definition["input_schema"] = copy.deepcopy(self.input_schema)
        if self.strict:
            definition["strict"] = True
        return definition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function as if it were no tool: no validation, no context, its own result."""
        result: R_co = self.function(*args, **kwargs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R_co]:
        """The tool bound to an object (or a class), as a function in a class would be."""
        if self.binding == "plain" or (self.binding == "method" and instance is None):
            return self
        return self.bound_to(instance if self.binding == "method" else owner)

    def bound_to(self, target: object) -> Tool[..., R_co]:
        """The tool with its first parameter, `self` or `cls`, filled in. Its concurrency limit stays shared."""
        bound = copy.copy(self)
        object.__setattr__(bound, "function", MethodType(self.function, target))
        object.__setattr__(bound, "binding", "plain")
        return bound

    @classmethod
    def from_function(cls, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool:
        """A tool from a function, method or callable object; the options are those of `tool()`."""
        return _build(function, read_options(options), defining_frames())

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        input_schema: Mapping[str, Any],
        function: Callable[..., Any],
        **options: Unpack[CallOptions],
    ) -> Tool:
        """A tool with a JSON Schema of its own (Draft 2020-12), such as one that came from elsewhere.

        The function gets the validated object as keyword arguments. If its one visible parameter is annotated as a
        dict or Mapping, and is not itself a property of the schema, it gets the whole object instead.
        """
        named = {"name": name, "description": description, "schema": input_schema}
        return _build(function, read_options({**options, **named}), defining_frames())


@overload
def tool(function: Callable[P, R_co], /, **options: Unpack[ToolOptions]) -> Tool[P, R_co]: ...


@overload
def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool: `@tool`, or `@tool(effect="read", timeout=10)`.

    The schema comes from the type hints, descriptions from the docstring (Google, NumPy or Sphinx style) and from
    `Annotated[…, Field(description=…)]`. A first parameter `ctx`, or one annotated `ToolContext`, and parameters marked
    `Injected` are hidden from the model. ToolDefinitionError for what can't be a schema, saying how to mend it.

    Options: `name` and `description` (default: the function's). `effect`: what happens if it runs twice: "read",
    "idempotent", "transactional", "reconcile" (with `reconcile=`, a function that asks whether it happened) or, the
    default, "once". `timeout`: seconds, per attempt. `retries`: further attempts after an unexpected exception or a
    time-out, for "read" and "idempotent". `concurrency`: calls at the same time, per event loop. `parallel`: False to
    run after the calls before it. `approval`: which calls a person decides on. `requires`: the assurance level below
    which the tool is not offered and not run. `untrusted`: its results hold text from outside, such as a web page.
    `when_untrusted`: "run" for a tool that changes something and yet may run by itself after such text was read; or a
    function as for `approval`, that is False when no person may be asked any more: the call is refused then.
    `strict`: the API guarantees the schema. `schema`: a JSON Schema instead of the type hints. `result_limit`:
    characters of text that are sent.
    """
    chosen = read_options(options)
    if function is not None:
        return _build(function, chosen, defining_frames())
    return lambda decorated: _build(decorated, chosen, defining_frames())


def _build(function: Any, options: Options, frames: list[FrameType]) -> Tool:
    if isinstance(function, Tool):
        function = function.function
    callee = read_callee(function)
    name = options.name if options.name is not None else callee.name
    where = f"tool {name!r}"
    check_name(name, where)
    check_options(options, where)
    brought = options.schema is not None
    shape = read_shape(callee, where, brought=brought, frames=frames)
    documented = read_docstring(callee.doc, {parameter.name for parameter in shape.parameters})
    check: Check
    if options.schema is None:
        visible = shape.visible()
        adapter = validator_for(visible, where, local_names(callee.source, frames))
        schema = schema_of(visible, adapter, documented.parameters, where)
        check = TypedCheck(adapter, schema)
    else:
        schema = schema_to_send(options.schema, where)
        shape = _fit(shape, schema, where)
        hidden = shape.hidden if shape.whole is None else frozenset[str]()
        check = BroughtCheck(validator_of(options.schema, where), schema, whole=options.schema, hidden=hidden)
    for key in schema["properties"]:
        if not _PROPERTY_KEY.fullmatch(key):
            logger.warning(
                "%s: the API may refuse the property name %r; letters a-z, digits, _ . - are safe", where, key
            )
    built: Tool = Tool(
        function=callee.function,
        name=name,
        description=clean(options.description if options.description is not None else documented.description),
        input_schema=strict_form(schema, where) if options.strict else schema,
        shape=shape,
        check=check,
        binding=callee.binding,
        slots=RunVar(f"turnkeeper tool {name}"),
        **{key: getattr(options, key) for key in _CARRIED},
    )
    _dress(built, callee)
    return built


_CARRIED = tuple({field.name for field in dataclasses.fields(Options)} - {"name", "description", "schema"})


def _dress(built: Tool, callee: Callee) -> None:
    """Give a tool the name, docstring and signature of its function, for help() and the like."""
    for attribute in functools.WRAPPER_ASSIGNMENTS:
        if attribute != "__annotations__" and hasattr(callee.source, attribute):
            object.__setattr__(built, attribute, getattr(callee.source, attribute))
    object.__setattr__(built, "__wrapped__", callee.function)


def _fit(shape: Shape, schema: Mapping[str, Any], where: str) -> Shape:
    """Match a function with the schema it brings, so that no call that validates can fail to be made."""
    properties, required = schema["properties"], set(schema.get("required") or ())
    visible = shape.visible()
    if len(visible) == 1 and not shape.open and visible[0].name not in properties and _is_mapping(visible[0].hint):
        return dataclasses.replace(shape, whole=visible[0].name)
    if taken := sorted(shape.hidden & set(properties)):
        raise ToolDefinitionError(
            f"{where}: the schema has the property {taken[0]!r}, and that parameter of the function is the "
            "application's, never the model's; give one of them another name, or take the whole object as one "
            "parameter annotated dict[str, Any]"
        )
    names = {parameter.name for parameter in visible}
    free = schema.get("additionalProperties", True) is not False
    if not shape.open and (free or not names >= set(properties)):
        extra = ", ".join(sorted(set(properties) - names)) or "any further key"
        raise ToolDefinitionError(
            f"{where}: the schema allows {extra}, and the function has no such parameter; add it, or take **arguments, "
            "or take the whole object as one parameter annotated dict[str, Any]"
        )
    for parameter in visible:
        if parameter.default is EMPTY and parameter.name not in required:
            raise ToolDefinitionError(
                f"{where}: the schema doesn't require {parameter.name!r}, and the function has no default for it; give "
                "it one, or list it under required"
            )
    return shape


def _is_mapping(hint: Any) -> bool:
    origin = getattr(hint, "__origin__", hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)
