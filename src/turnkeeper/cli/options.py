"""The options that the talking commands share, and the values they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import click

__all__ = (
    "FORMATS",
    "MODEL_OPTIONS",
    "Talk",
    "color_option",
    "database_option",
    "format_option",
    "journal_option",
    "serving",
    "talking",
)

FORMATS = ("text", "json", "stream-json")

F = TypeVar("F", bound=Callable[..., Any])


class _Money(click.ParamType[Decimal]):
    """An amount of USD, exact."""

    name = "usd"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        if isinstance(value, Decimal):
            return value
        try:
            amount = Decimal(str(value).removeprefix("$"))
        except InvalidOperation:
            self.fail(f"{value!r} is not an amount of money such as 0.50", param, ctx)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount of 0 or more", param, ctx)
        return amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What a talking command was asked for; None where nothing was said, so that settings and defaults count."""

    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    tool_choice: str | None = None
    go_on: bool = False
    conversation: str | None = None
    journal: str | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    budget: Decimal | None = None
    conversation_budget: Decimal | None = None
    day_budget: Decimal | None = None
    cache: str | None = None
    result_head: int | None = None
    stream: bool = True
    output_format: str = "text"
    no_color: bool = False

    def __post_init__(self) -> None:
        if self.go_on and self.conversation is not None:
            raise click.UsageError(
                "--continue takes the last conversation, --conversation a named one: use one of them"
            )


journal_option = click.option(
    "--journal",
    metavar="URL",
    help="Where conversations are kept: sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME, or memory: for nowhere."
    " [TURNKEEPER_JOURNAL; default: a file in your data folder]",
)
color_option = click.option(
    "--no-color", is_flag=True, help="No colours. NO_COLOR, FORCE_COLOR and TERM=dumb are heeded as well."
)


def format_option(*formats: str) -> Callable[[F], F]:
    """`--output-format`, of these; the first is the default."""
    return click.option(
        "--output-format",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How the outcome is written to stdout."
        + (" stream-json is one line of JSON per update." if "stream-json" in formats else ""),
    )


_AGENT: tuple[Callable[[Any], Any], ...] = (
    click.option("-m", "--model", metavar="ID", help="The model. [ANTHROPIC_MODEL; `turnkeeper models` lists them]"),
    click.option(
        "--base-url",
        metavar="URL",
        help="Another endpoint that speaks the Messages API: Ollama, llama.cpp, vLLM, LiteLLM, a gateway; no key is"
        " needed then. [ANTHROPIC_BASE_URL]",
    ),
    click.option("-s", "--system", metavar="TEXT", help="The system prompt."),
    click.option(
        "-T",
        "--tools",
        metavar="MODULE[:NAME]",
        multiple=True,
        help="Tools from a module or a .py file: all its @tool functions, or the one (or list) of that name. May be"
        " given more than once.",
    ),
    click.option(
        "--mcp",
        metavar="FILE",
        multiple=True,
        help="Tools of the MCP servers that a file in the format of .mcp.json lists; they are started, and what they"
        " say of their tools is kept beside the file, in .mcp.pins.json. May be given more than once.",
    ),
    click.option(
        "--tool-choice",
        metavar="auto|any|none|NAME",
        help="Whether the model may, must or must not use a tool, or which one it must use first. [default: auto]",
    ),
)
MODEL_OPTIONS: tuple[Callable[[Any], Any], ...] = _AGENT[:3]
"""The model, where it is, and its prompt; for commands without tools."""
_WHICH: tuple[Callable[[Any], Any], ...] = (
    click.option("-c", "--continue", "go_on", is_flag=True, help="Go on with the last conversation."),
    click.option("--conversation", metavar="ID", help="Go on with this conversation; a new one if there is none."),
)
_LIMITS: tuple[Callable[[Any], Any], ...] = (
    click.option("--max-requests", type=click.IntRange(min=1), metavar="N", help="Requests that a turn may use."),
    click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens that one reply may have."),
    click.option("--budget", type=_Money(), metavar="USD", help="What a turn may cost; needs a model with a price."),
    click.option("--conversation-budget", type=_Money(), metavar="USD", help="What the whole conversation may cost."),
    click.option(
        "--day-budget", type=_Money(), metavar="USD", help="What all conversations of the journal may cost in a day."
    ),
    click.option(
        "--cache",
        type=click.Choice(("on", "off", "5m", "1h")),
        help="Whether prompts are cached, and how long. [TURNKEEPER_CACHE; default: on, for models of the catalogue]",
    ),
    click.option(
        "--result-head",
        type=click.IntRange(min=200),
        metavar="N",
        help="Characters of a tool's result that the model gets at once; it reads on with a built-in tool."
        " [TURNKEEPER_RESULT_HEAD]",
    ),
    click.option("--no-stream", "stream", flag_value=False, default=True, help="Ask for each reply as a whole."),
)
_SERVING = (*_AGENT, journal_option, *_LIMITS)
_TALKING = (*_AGENT, *_WHICH, journal_option, *_LIMITS, format_option(*FORMATS), color_option)

database_option = click.option(
    "--database",
    metavar="URL",
    help="The desk's records: sqlite:///FILE or postgresql://USER@HOST/NAME."
    " [TURNKEEPER_DESK; default: a file in your data folder]",
)


def serving(function: F) -> F:
    """The options of a command that drives conversations but has none of its own; the same way."""
    for option in reversed(_SERVING):
        function = option(function)
    return function


def talking(function: F) -> F:
    """All options of a talking command; it gets them as keywords, to be made a `Talk` of."""
    for option in reversed(_TALKING):
        function = option(function)
    return function
