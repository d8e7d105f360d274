"""`@tool` on functions, methods and callables; what is refused at definition, and how to mend it."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

import pytest

from turnkeeper.tools import Tool, ToolContext, ToolDefinitionError, check_arguments, run_call, tool

pytestmark = pytest.mark.anyio


async def result_of(made: Tool, arguments: dict[str, Any] | None = None) -> object:
    outcome = await run_call(made, check_arguments(made, arguments or {}))
    assert outcome.state == "succeeded", outcome
    return outcome.content


async def test_a_decorated_function_is_a_tool_and_still_the_function() -> None:
    @tool
    def add(first: int, second: int = 2) -> int:
        """Add two numbers."""
        return first + second

    assert isinstance(add, Tool)
    assert add(1) == 3
    assert vars(add)["__name__"] == "add"
    assert add.__doc__ == "Add two numbers."
    assert str(inspect.signature(add)) == "(first: 'int', second: 'int' = 2) -> 'int'"
    assert await result_of(add, {"first": 40}) == "42"
    assert add.definition == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 2}},
            "required": ["first"],
            "additionalProperties": False,
        },
    }


async def test_an_async_function_is_awaited() -> None:
    @tool
    async def greet(name: str) -> str:
        return f"Привет, {name} 👋"

    assert await greet("Оля") == "Привет, Оля 👋"
    assert await result_of(greet, {"name": "李雷"}) == "Привет, 李雷 👋"


async def test_a_definition_is_a_fresh_copy_each_time() -> None:
    @tool
    def noop() -> None:
        """Do nothing."""

    noop.definition["input_schema"]["properties"]["x"] = {}
    assert noop.definition["input_schema"]["properties"] == {}


class Desk:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    @tool(effect="read")
    def orders(self, status: str = "open") -> str:
        """List orders.

        Args:
            status: which ones.
        """
        return f"{self.owner}:{status}"

    @tool
    async def cancel(self, order_id: int) -> str:
        return f"{self.owner} cancels {order_id}"

    @tool
    @staticmethod
    def double(number: int) -> int:
        return number * 2

    @staticmethod
    @tool
    def treble(number: int) -> int:
        return number * 3

    @tool
    @classmethod
    def kind(cls, suffix: str = "") -> str:
        return cls.__name__ + suffix

    def plain(self, note: str) -> str:
        """Note something."""
        return f"{self.owner} {note}"


async def test_a_method_is_a_tool_of_its_object() -> None:
    desk = Desk("Ана")
    assert desk.orders.definition["input_schema"]["properties"] == {
        "status": {"type": "string", "description": "which ones.", "default": "open"}
    }
    assert desk.orders() == "Ана:open"
    assert await result_of(desk.orders, {"status": "late"}) == "Ана:late"
    assert await result_of(Desk("b").cancel, {"order_id": 7}) == "b cancels 7"
    assert await result_of(desk.double, {"number": 2}) == "4"
    assert await result_of(Desk.treble, {"number": 2}) == "6"
    assert await result_of(desk.kind, {"suffix": "!"}) == "Desk!"
    assert await result_of(Tool.from_function(desk.plain), {"note": "x"}) == "Ана x"


class Weather:
    """Tell the weather."""

    def __call__(self, city: str) -> str:
        return f"sunny in {city}"


class SlowWeather:
    async def __call__(self, city: str) -> str:
        """Tell it later."""
        return f"later in {city}"


async def test_a_callable_object_is_a_tool_named_after_its_class() -> None:
    weather, slow = Tool.from_function(Weather()), Tool.from_function(SlowWeather(), name="slow")
    assert (weather.name, weather.description) == ("Weather", "Tell the weather.")
    assert await result_of(weather, {"city": "Łódź"}) == "sunny in Łódź"
    assert slow.description == "Tell it later."
    assert await result_of(slow, {"city": "Oslo"}) == "later in Oslo"


async def test_what_a_partial_binds_is_hidden_from_the_model() -> None:
    def fetch(path: str, api_key: str, retries: int = 3) -> str:
        """Fetch a page."""
        return f"{path} {api_key} {retries}"

    made = Tool.from_function(functools.partial(fetch, api_key="sk-secret"))
    assert made.name == "fetch"
    assert "secret" not in str(made.definition)
    assert set(made.definition["input_schema"]["properties"]) == {"path", "retries"}
    assert await result_of(made, {"path": "/a"}) == "/a sk-secret 3"


async def test_a_wrapped_function_keeps_its_own_signature() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @logged
    async def search(query: str, *, limit: int = 10) -> str:
        return f"{query} {limit}"

    assert list(search.input_schema["properties"]) == ["query", "limit"]
    assert await result_of(search, {"query": "猫", "limit": "5"}) == "猫 5"


async def test_keyword_only_and_positional_only_parameters_are_passed_as_the_function_wants_them() -> None:
    @tool
    def mixed(a: int = 1, b: int = 2, /, c: int = 3, *, d: int = 4) -> list[int]:
        return [a, b, c, d]

    assert await result_of(mixed, {"b": 20, "d": 40}) == "[1,20,3,40]"


async def test_names_and_descriptions_can_be_given() -> None:
    made = Tool.from_function(lambda: "x", name="ask-me_2", description="Ask \ud800 me")
    assert made.definition["name"] == "ask-me_2"
    assert made.definition["description"] == "Ask \ufffd me"


async def test_a_blank_description_is_left_out() -> None:
    made = Tool.from_function(lambda: "x", name="silent")
    assert "description" not in made.definition


def refused(function: Any, **options: Any) -> str:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(**options)(function)
    return str(caught.value)


def variadic(*names: str) -> None: ...
def open_ended(**names: str) -> None: ...
def unannotated(a, b=1): ...  # type: ignore[no-untyped-def]
def arbitrary(cursor: functools.partial[int]) -> None: ...
def a_class(kind: type[int]) -> None: ...
def unknown(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def context_by_name(ctx: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (variadic, "tool 'variadic': .names can't be described to the model; take a list instead, such as names: list"),
        (open_ended, "tool 'open_ended': ..names can't be described to the model; name each parameter"),
        (unannotated, "parameter 'a' has no type hint and no default: .*; annotate it, such as a: str"),
        (arbitrary, "parameter 'cursor' of type .*partial.* has no JSON Schema .*Injected"),
        (a_class, "parameter 'kind' of type .* has no JSON Schema"),
        (unknown, "the annotation 'Missing' of parameter 'a' can't be resolved .*; define or import its names before"),
        (context_by_name, "a first parameter 'ctx' is the ToolContext; annotate it so, or give it another name"),
        (lambda: 1, "tool '<lambda>': the API takes names of 1 to 64 letters .* give it one"),
        (Weather, "is a class, not a function: give a function"),
        (7, "is a int, not a function"),
        (dict.fromkeys, "no type hint and no default"),
        (print, r"\*args can't be described"),
    ],
)
async def test_what_has_no_schema_is_refused_with_a_way_to_mend_it(function: Any, words: str) -> None:
    assert re.search(words, refused(function))


def fine(a: int = 1) -> None: ...


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "with space"}, "tool 'with space': the API takes names"),
        ({"name": "имя"}, "tool 'имя': the API takes names"),
        ({"name": ""}, "tool '': the API takes names"),
        ({"name": "x" * 65}, "the API takes names"),
        ({"name": "line\n"}, "the API takes names"),
        ({"effect": "write"}, "effect is one of read, idempotent, transactional, reconcile, once, not 'write'"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, or None; not 0"),
        ({"timeout": float("nan")}, "timeout is a number of seconds"),
        ({"retries": -1}, "retries is 0 or more, not -1"),
        ({"retries": 1}, "only what may safely happen twice is retried: say effect='read'"),
        ({"retries": 1, "effect": "transactional"}, "its effect is 'transactional'"),
        ({"concurrency": 0}, "concurrency is 1 or more"),
        ({"result_limit": 10}, "result_limit is 200 characters or more"),
        ({"effect": "reconcile"}, "effect='reconcile' and reconcile=… go together"),
        ({"reconcile": fine}, "effect='reconcile' and reconcile=… go together"),
    ],
)
async def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    assert words in refused(fine, **options)


async def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="no option retrys"):
        tool(retrys=1)(fine)  # type: ignore[call-overload]


async def test_an_unannotated_parameter_with_a_default_takes_its_type_from_it() -> None:
    @tool
    def page(number=1, title="", anything=None, flag=False):  # type: ignore[no-untyped-def]
        return [number, title, anything, flag]

    assert page.input_schema["properties"] == {
        "number": {"type": "integer", "default": 1},
        "title": {"type": "string", "default": ""},
        "anything": {"default": None},
        "flag": {"type": "boolean", "default": False},
    }


async def test_a_tool_made_of_a_tool_keeps_the_function() -> None:
    @tool
    def look(ctx: ToolContext) -> str:
        return ctx.key

    again = tool(look, name="look_again")
    assert again.name == "look_again"
    assert again.function is look.function
