"""What a callable's signature says: which parameters the model fills in, and which are hidden from it."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools import context as context_module
from turnkeeper.tools.context import ToolContext

__all__ = ("EMPTY", "Callee", "Parameter", "Shape", "defining_frames", "local_names", "read_callee", "read_shape")

EMPTY: Any = inspect.Parameter.empty
Binding = Literal["plain", "method", "class"]
Role = Literal["argument", "context", "injected"]

_FRAMES = 50

# The runtime class; type checkers see an alias there.
_INJECTED: Any = vars(context_module)["Injected"]
_WRITTEN_INJECTED = re.compile(r"^(typing\.|\w+\.)?Annotated\[.*\bInjected\b.*\]$|^(\w+\.)*Injected\[.*\]$", re.DOTALL)
_WRITTEN_CONTEXT = re.compile(r"^(\w+\.)*ToolContext(\s*\|\s*None)?$|^(\w+\.)*Optional\[(\w+\.)*ToolContext\]$")


@dataclass(frozen=True, slots=True)
class Callee:
    """A callable taken apart: what is called, where its names are looked up, and how it wants to be bound."""

    function: Callable[..., Any]
    source: Any
    signature: inspect.Signature
    name: str
    doc: str | None
    binding: Binding
    given: frozenset[str] = frozenset()
    """What the application has filled in already: keywords of a partial, `self`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `hint` keeps its `Annotated` extras, `default` is `EMPTY` where there is none."""

    name: str
    kind: Any
    hint: Any
    default: Any
    role: Role


@dataclass(frozen=True, slots=True)
class Shape:
    """How to call a function with validated arguments.

    `whole` names the one parameter that takes them all as a mapping; `open` says that the function has `**kwargs`;
    `given` are the names that the application has filled in already.
    """

    parameters: tuple[Parameter, ...]
    whole: str | None = None
    open: bool = False
    given: frozenset[str] = frozenset()

    def visible(self) -> tuple[Parameter, ...]:
        """The parameters that the model fills in."""
        return tuple(parameter for parameter in self.parameters if parameter.role == "argument")

    @property
    def hidden(self) -> frozenset[str]:
        """Names that no argument of the model may have."""
        return self.given.union(one.name for one in self.parameters if one.role != "argument")

    def call(self, arguments: Mapping[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments for one call; LookupError if the application bound no value."""
        hidden = self.hidden
        named: dict[str, Any] = {name: value for name, value in arguments.items() if name not in hidden}
        if self.whole is not None:
            named = {self.whole: dict(arguments)}
        positional: list[Any] = []
        for parameter in self.parameters:
            if parameter.role == "context":
                named[parameter.name] = context
            elif parameter.role == "injected":
                if parameter.name in context.injected:
                    named[parameter.name] = context.injected[parameter.name]
                elif parameter.default is EMPTY:
                    raise LookupError(f"nothing is bound to the injected parameter {parameter.name!r}")
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(named.pop(parameter.name, parameter.default))
        return positional, named


def read_callee(thing: Any) -> Callee:
    """Take a function, method, class or static method, partial or callable object apart."""
    binding: Binding = "plain"
    function = thing
    if isinstance(thing, staticmethod):
        function = thing.__func__
    elif isinstance(thing, classmethod):
        function, binding = thing.__func__, "class"
    if inspect.isclass(function) or not callable(function):
        kind = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
        raise ToolDefinitionError(f"{function!r} is {kind}, not a function: give a function that returns the result")
    source = _source(function)
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise ToolDefinitionError(
            f"the parameters of {function!r} can't be read ({error}): wrap it in a function with type hints"
        ) from error
    parameters = list(signature.parameters.values())
    given: set[str] = set()
    if isinstance(function, functools.partial):
        # What the application bound by keyword is its own business, never the model's.
        given |= set(function.keywords)
        parameters = [p for p in parameters if p.name not in given]
    if binding == "plain" and not isinstance(thing, staticmethod) and _looks_like_method(function, parameters):
        binding = "method"
    if binding != "plain":
        given |= {p.name for p in parameters[:1]}
        parameters = parameters[1:]
    name = getattr(source, "__name__", type(function).__name__)
    if name == "__call__":
        name = type(function).__name__
    doc = source.__doc__ or (type(function).__doc__ if type(function).__call__ is source else None)
    return Callee(function, source, signature.replace(parameters=parameters), name, doc, binding, frozenset(given))


def _source(function: Any) -> Any:
    """The Python function behind wrappers: its module is where annotations are resolved."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and inspect.isroutine(call := _call_of(function)):
            function = call
        else:
            return function


def _call_of(function: Any) -> Any:
    return getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted


def _looks_like_method(function: Any, parameters: list[inspect.Parameter]) -> bool:
    if not inspect.isfunction(function) or not parameters:
        return False
    owner = function.__qualname__.rpartition(".")[0]
    first = parameters[0]
    if (
        not owner
        or owner.endswith("<locals>")
        or first.kind not in {first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD}
    ):
        return False
    return first.name in {"self", "cls"} or (
        first.annotation is EMPTY and first.default is EMPTY and first.name != "ctx"
    )


def read_shape(callee: Callee, where: str, *, brought: bool, frames: list[types.FrameType]) -> Shape:
    """Every parameter with its hint resolved and its role; ToolDefinitionError for what can't be offered.

    `brought` says that the tool brings its own schema: then hints don't matter and `**kwargs` is welcome. `frames`
    are the ones that define the function, innermost first: their locals complete the names of its module.
    """
    parameters: list[Parameter] = []
    module_names: dict[str, Any] = getattr(callee.source, "__globals__", {})
    around: Mapping[str, Any] | None = None
    for index, raw in enumerate(callee.signature.parameters.values()):
        _refuse_kind(raw, where, brought=brought)
        if raw.kind is raw.VAR_KEYWORD:
            continue
        hint: Any = raw.annotation
        role: Role | None = None
        if hint is not EMPTY:
            around = local_names(callee.source, frames) if around is None else around
            try:
                hint = _resolve(hint, module_names, around)
            except Exception as error:
                role = _role_as_written(raw.annotation, raw.name, index)
                if role is None and not brought:
                    raise ToolDefinitionError(_unresolved(where, raw.name, raw.annotation, error)) from error
                hint = Any
        role = role or _role(hint, raw.name, index, where)
        if role == "argument" and not brought:
            hint = _hint_or_guess(raw, hint, where)
        parameters.append(Parameter(raw.name, raw.kind, hint, raw.default, role))
    kinds = {raw.kind for raw in callee.signature.parameters.values()}
    return Shape(tuple(parameters), open=inspect.Parameter.VAR_KEYWORD in kinds, given=callee.given)


def _refuse_kind(raw: inspect.Parameter, where: str, *, brought: bool) -> None:
    if raw.kind is raw.VAR_POSITIONAL:
        raise ToolDefinitionError(
            f"{where}: *{raw.name} can't be described to the model; take a list instead, such as {raw.name}: list[str]"
        )
    if raw.kind is raw.VAR_KEYWORD and not brought:
        raise ToolDefinitionError(
            f"{where}: **{raw.name} can't be described to the model; name each parameter, or take a dict: "
            f"{raw.name}: dict[str, str]"
        )


def _hint_or_guess(raw: inspect.Parameter, hint: Any, where: str) -> Any:
    if hint is not EMPTY:
        return hint
    if raw.default is EMPTY:
        raise ToolDefinitionError(
            f"{where}: parameter {raw.name!r} has no type hint and no default: the model can't be told what to send; "
            f"annotate it, such as {raw.name}: str"
        )
    guess = type(raw.default)
    return guess if guess in {bool, int, float, str, list, dict} else Any


def _role(hint: Any, name: str, index: int, where: str) -> Role:
    bare = hint
    if typing.get_origin(hint) is Annotated:
        if any(extra is _INJECTED or isinstance(extra, _INJECTED) for extra in hint.__metadata__):
            return "injected"
        bare = hint.__origin__
    options = typing.get_args(bare) if typing.get_origin(bare) in {typing.Union, types.UnionType} else (bare,)
    if any(isinstance(option, type) and issubclass(option, ToolContext) for option in options):
        return "context"
    if bare is _INJECTED:
        raise ToolDefinitionError(f"{where}: write {name}: Injected[its type], not only Injected")
    if name == "ctx" and index == 0:
        if hint is EMPTY or hint is Any:
            return "context"
        raise ToolDefinitionError(
            f"{where}: a first parameter 'ctx' is the ToolContext; annotate it so, or give it another name"
        )
    return "argument"


def _role_as_written(annotation: Any, name: str, index: int) -> Role | None:
    """The role by the wording of an annotation whose names exist only for the type checker."""
    written = annotation if isinstance(annotation, str) else ""
    if _WRITTEN_INJECTED.match(written):
        return "injected"
    if _WRITTEN_CONTEXT.match(written) or (name == "ctx" and index == 0):
        return "context"
    return None


def _unresolved(where: str, name: str, annotation: Any, error: Exception) -> str:
    return (
        f"{where}: the annotation {annotation!r} of parameter {name!r} can't be resolved ({error}); define or import "
        "its names before the tool, and not under TYPE_CHECKING only"
    )


def _resolve(annotation: Any, module_names: dict[str, Any], local_names: Mapping[str, Any]) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {"hint": annotation}
    hints = typing.get_type_hints(holder, module_names, dict(local_names), include_extras=True)
    return hints["hint"]


def defining_frames() -> list[types.FrameType]:
    """The frames of whoever is defining a tool now, innermost first."""
    frames: list[types.FrameType] = []
    here = inspect.currentframe()
    # Not this frame itself: a frame that holds a list which holds the frame would keep every local alive.
    frame = here.f_back if here is not None else None
    while frame is not None and len(frames) < _FRAMES:
        frames.append(frame)
        frame = frame.f_back
    return frames


def local_names(source: Any, frames: list[types.FrameType]) -> Mapping[str, Any]:
    """The names that the scopes around a function add to those of its module."""
    scopes: list[dict[str, Any]] = [dict(_closure(source))]
    scopes.append({variable.__name__: variable for variable in getattr(source, "__type_params__", ())})
    # Only frames of the function's own module: the scopes around it, never a caller's names by accident.
    scopes.extend(
        dict(frame.f_locals)
        for frame in frames
        if frame.f_globals is getattr(source, "__globals__", None) and frame.f_locals is not frame.f_globals
    )
    return ChainMap(*scopes)


def _closure(source: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(source, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(source, "__closure__", None) or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
