"""What can be said about a tool besides its function, and which combinations make no sense."""

from __future__ import annotations

import dataclasses
import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.results import RESULT_LIMIT
from turnkeeper.types import LEVELS, Effect

__all__ = (
    "NAME_PATTERN",
    "REPEATABLE",
    "CallOptions",
    "Options",
    "ToolOptions",
    "check_name",
    "check_options",
    "read_options",
)

NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names that the Messages API takes (docs, "Define tools")."""
REPEATABLE: frozenset[str] = frozenset({"read", "idempotent"})
"""Effects whose calls may run again by themselves."""
_SMALLEST_RESULT = 200


class CallOptions(TypedDict, total=False):
    """The keywords of `tool()` about its calls; each is described there."""

    effect: Effect
    approval: Any
    timeout: float | None
    retries: int
    concurrency: int | None
    parallel: bool
    requires: str | None
    untrusted: bool
    when_untrusted: str | Callable[..., Any]
    strict: bool
    result_limit: int
    reconcile: Callable[..., Any] | None


class ToolOptions(CallOptions, total=False):
    """All keywords of `tool()`."""

    name: str | None
    description: str | None
    schema: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The same with their defaults."""

    name: str | None = None
    description: str | None = None
    effect: Effect = "once"
    approval: Any = None
    timeout: float | None = None
    retries: int = 0
    concurrency: int | None = None
    parallel: bool = True
    requires: str | None = None
    untrusted: bool = False
    when_untrusted: str | Callable[..., Any] = "ask"
    strict: bool = False
    schema: Mapping[str, Any] | None = None
    result_limit: int = RESULT_LIMIT
    reconcile: Callable[..., Any] | None = None


def read_options(given: Mapping[str, Any]) -> Options:
    """Options from keywords; TypeError for an unknown keyword."""
    unknown = set(given) - {field.name for field in dataclasses.fields(Options)}
    if unknown:
        raise TypeError(f"tool() has no option {', '.join(sorted(unknown))}")
    return Options(**given)


def check_name(name: str, where: str) -> None:
    """Refuse a name that the API would refuse."""
    if not NAME_PATTERN.fullmatch(name):
        raise ToolDefinitionError(
            f"{where}: the API takes names of 1 to 64 letters a-z and A-Z, digits, _ and - only; "
            'give it one, such as tool(name="look_up_order")'
        )


def check_options(options: Options, where: str) -> None:
    """Refuse values and combinations that can't be kept."""
    effects = typing.get_args(Effect)
    if options.effect not in effects:
        raise ToolDefinitionError(f"{where}: effect is one of {', '.join(effects)}, not {options.effect!r}")
    if options.timeout is not None and not (math.isfinite(options.timeout) and options.timeout > 0):
        raise ToolDefinitionError(f"{where}: timeout is a number of seconds above 0, or None; not {options.timeout!r}")
    if options.retries < 0:
        raise ToolDefinitionError(f"{where}: retries is 0 or more, not {options.retries}")
    if options.retries and options.effect not in REPEATABLE:
        raise ToolDefinitionError(
            f"{where}: only what may safely happen twice is retried: say effect='read' or effect='idempotent', or "
            f"leave retries out (its effect is {options.effect!r})"
        )
    if options.concurrency is not None and options.concurrency < 1:
        raise ToolDefinitionError(f"{where}: concurrency is 1 or more, or None; not {options.concurrency}")
    if not (options.approval in (None, "never", "always") or callable(options.approval)):
        raise ToolDefinitionError(
            f"{where}: approval is 'never', 'always' or a function of (arguments, principal, conversation id), not "
            f"{options.approval!r}"
        )
    if options.requires not in (None, *LEVELS):
        raise ToolDefinitionError(f"{where}: requires is one of {', '.join(LEVELS)}, not {options.requires!r}")
    if not (options.when_untrusted in ("ask", "run") or callable(options.when_untrusted)):
        raise ToolDefinitionError(
            f"{where}: when_untrusted is 'ask' or 'run', or a function of (arguments, principal, conversation id), not "
            f"{options.when_untrusted!r}"
        )
    if options.result_limit < _SMALLEST_RESULT:
        raise ToolDefinitionError(f"{where}: result_limit is {_SMALLEST_RESULT} characters or more")
    if (options.effect == "reconcile") != (options.reconcile is not None):
        raise ToolDefinitionError(
            f"{where}: effect='reconcile' and reconcile=… go together: the function is asked whether it happened"
        )
