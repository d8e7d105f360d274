"""The schema that the model sees, made from type hints."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import importlib.util
import json
import typing
import uuid
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Optional, Union

import jsonschema_rs
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from turnkeeper.tools import ToolContext, ToolDefinitionError, check_arguments, run_call, tool

pytestmark = pytest.mark.anyio


class Colour(enum.Enum):
    RED = "красный"
    BLUE = "蓝"


class OrderCond(BaseModel):
    """What an order must be."""

    id: int
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Address(typing.TypedDict, total=False):
    """Where someone lives."""

    street: typing.Required[str]
    zip_code: str
    former: Address | None


NOTHING = object()


class Node(BaseModel):
    value: int
    children: list[Node] = []


def part(schema: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"][name]
    return found


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [ref for item in value for ref in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [ref for item in value.values() for ref in references(item)]


def check_sound(schema: dict[str, Any]) -> None:
    jsonschema_rs.Draft202012Validator(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "allOf", "title"} & set(schema)
    for reference in references(schema):
        assert reference.startswith("#/$defs/")
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


async def test_every_kind_of_type_hint_has_its_schema() -> None:
    @tool
    def everything(  # noqa: PLR0917 - one of each
        text: str,
        maybe: Optional[int],  # noqa: UP045
        either: Union[int, str],  # noqa: UP007
        mode: Literal["a", "b", 3],
        colour: Colour,
        order: OrderCond,
        point: Point,
        home: Address,
        tree: Node,
        day: datetime.date,
        moment: datetime.datetime,
        hour: datetime.time,
        span: datetime.timedelta,
        token: uuid.UUID,
        price: Decimal,
        tags: set[str],
        pair: tuple[int, str],
        prices: dict[str, Decimal],
        anything: Any,
        *,
        limited: Annotated[int, Field(description="how many", ge=1, le=50)] = 10,
    ) -> None: ...

    schema = everything.input_schema
    check_sound(schema)
    assert part(schema, "text") == {"type": "string"}
    assert part(schema, "maybe") == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert part(schema, "either") == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert part(schema, "mode") == {"enum": ["a", "b", 3]}
    assert part(schema, "day") == {"type": "string", "format": "date"}
    assert part(schema, "moment") == {"type": "string", "format": "date-time"}
    assert part(schema, "hour") == {"type": "string", "format": "time"}
    assert part(schema, "span") == {"type": "string", "format": "duration"}
    assert part(schema, "token") == {"type": "string", "format": "uuid"}
    assert part(schema, "tags") == {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    assert part(schema, "anything") == {}
    limited = {"type": "integer", "description": "how many", "minimum": 1, "maximum": 50, "default": 10}
    assert part(schema, "limited") == limited
    assert schema["required"][0] == "text"
    assert "limited" not in schema["required"]
    assert schema["$defs"]["Colour"] == {"type": "string", "enum": ["красный", "蓝"]}
    assert schema["$defs"]["Address"]["description"] == "Where someone lives."
    assert schema["$defs"]["Address"]["required"] == ["street"]
    assert schema["$defs"]["Point"]["properties"]["y"] == {"type": "number", "default": 0.0}
    assert all(definition.get("additionalProperties", False) is False for definition in schema["$defs"].values())


async def test_references_resolve_and_nested_types_arrive_built() -> None:
    """Report B18-dangling-ref.

    https://github.com/QwenLM/Qwen-Agent/pull/873
    """
    received: dict[str, Any] = {}

    @tool
    def place(
        cond: Annotated[OrderCond, Field(description="the one that counts")],
        many: list[OrderCond],
        by_key: dict[str, OrderCond],
        pair: tuple[OrderCond, OrderCond],
        opt: OrderCond | None = None,
    ) -> str:
        received.update(cond=cond, many=many, by_key=by_key, pair=pair, opt=opt)
        return "ok"

    schema = place.input_schema
    check_sound(schema)
    assert part(schema, "cond") == {"$ref": "#/$defs/OrderCond", "description": "the one that counts"}
    one = {"id": 1, "colour": "蓝"}
    given = {"cond": one, "many": [one], "by_key": {"k": one}, "pair": [one, one]}
    validator = jsonschema_rs.Draft202012Validator(schema)
    assert validator.is_valid(given)
    assert not validator.is_valid({**given, "cond": "{}"})
    await run_call(place, check_arguments(place, given))
    wanted = OrderCond(id=1, colour=Colour.BLUE)
    assert received.pop("pair") == (wanted, wanted)
    assert received == {"cond": wanted, "many": [wanted], "by_key": {"k": wanted}, "opt": None}


async def test_dataclasses_typed_dicts_and_recursive_types_arrive_built() -> None:
    @tool
    def take(point: Point, home: Address, tree: Node) -> str:
        assert point == Point(1.0, 2.0)
        assert home == {"street": "улица 1", "former": {"street": "old"}}
        assert tree == Node(value=1, children=[Node(value=2)])
        return "ok"

    given = {
        "point": {"x": 1, "y": "2"},
        "home": {"street": "улица 1", "former": {"street": "old"}},
        "tree": {"value": 1, "children": [{"value": 2}]},
    }
    assert (await run_call(take, check_arguments(take, given))).content == "ok"


async def test_the_backports_typed_dict_is_taken_as_well() -> None:
    class Pair(typing_extensions.TypedDict):
        left: int
        right: typing_extensions.NotRequired[int]

    @tool
    def take(pair: Pair) -> None: ...

    assert check_arguments(take, {"pair": {"left": "1"}}) == {"pair": {"left": 1}}


async def test_a_property_that_is_named_like_a_keyword_stays_what_it_is() -> None:
    class Titled(BaseModel):
        title: str
        properties: int = 1

    @tool
    def keep(title: str, item: Titled, description: str = "x") -> None: ...

    schema = keep.input_schema
    check_sound(schema)
    assert list(schema["properties"]) == ["title", "item", "description"]
    assert list(schema["$defs"]["Titled"]["properties"]) == ["title", "properties"]


async def test_names_that_models_reserve_are_fine_as_parameters() -> None:
    @tool
    def odd(model_config: str, copy: int, _hidden: str = "a", schema: bool = False) -> None: ...

    assert check_arguments(odd, {"model_config": "m", "copy": 1, "_hidden": "b"}) == {
        "model_config": "m",
        "copy": 1,
        "_hidden": "b",
    }


async def test_an_alias_is_what_the_model_sees_and_the_name_is_what_the_function_gets() -> None:
    @tool
    def between(from_: Annotated[str, Field(alias="from", description="start")], to: str = "now") -> str:
        return f"{from_}-{to}"

    assert list(between.input_schema["properties"]) == ["from", "to"]
    assert check_arguments(between, {"from": "x"}) == {"from_": "x"}


async def test_field_as_a_default_is_read_as_one() -> None:
    @tool
    def search(q: str = Field(description="what", min_length=2), limit: int = Field(default=3, le=9)) -> str:
        return f"{q} {limit}"

    assert search.input_schema["required"] == ["q"]
    assert part(search.input_schema, "limit") == {"type": "integer", "maximum": 9, "default": 3}
    assert (await run_call(search, check_arguments(search, {"q": "ab"}))).content == "ab 3"


async def test_a_default_is_shown_only_if_json_can_show_it() -> None:
    @tool
    def some(
        colour: Colour = Colour.BLUE,
        day: datetime.date = datetime.date(2026, 1, 2),
        ratio: float = float("inf"),
        none: int = None,  # type: ignore[assignment]  # noqa: RUF013 - as people write it
        missing: Any = NOTHING,
    ) -> None: ...

    schema = some.input_schema
    assert part(schema, "colour")["default"] == "蓝"
    assert part(schema, "day")["default"] == "2026-01-02"
    assert "default" not in part(schema, "ratio")
    assert "default" not in part(schema, "none")
    assert "default" not in part(schema, "missing")
    assert "required" not in schema


async def test_a_plain_string_in_annotated_is_a_description() -> None:
    @tool
    def find(q: Annotated[str, "what to look for"]) -> None: ...

    assert part(find.input_schema, "q") == {"type": "string", "description": "what to look for"}


async def test_real_characters_reach_the_definition() -> None:
    """Report B02-ensure-ascii.

    https://github.com/microsoft/autogen/pull/7730
    """

    @tool
    def translate(to: Literal["日本語", "한국어", "🙂"]) -> str:
        """Übersetzen. 翻訳する。"""
        return to

    text = json.dumps(translate.definition, ensure_ascii=False)
    assert "日本語" in text
    assert "翻訳する。" in text
    assert "\\u" not in text


SOURCE = '''
from typing import Annotated, Literal
from pydantic import Field
from turnkeeper.tools import ToolContext, tool

@tool
def f(
    query: Annotated[str, Field(description="what", min_length=2)],
    mode: Literal["a", "b"],
    ctx: ToolContext,
) -> str:
    """Find."""
    return f"{query} {mode} {ctx.key}"
'''


def load(path: Path, text: str) -> ModuleType:
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_postponed_annotations_are_resolved_in_the_tools_own_module(tmp_path: Path) -> None:
    """Report B04-future-annotations-context.

    https://github.com/PrefectHQ/fastmcp/pull/3243
    """
    plain = load(tmp_path / "plain_tools.py", SOURCE).f
    postponed = load(tmp_path / "postponed_tools.py", "from __future__ import annotations\n" + SOURCE).f
    assert postponed.definition == plain.definition
    assert part(postponed.input_schema, "query") == {"type": "string", "description": "what", "minLength": 2}
    assert part(postponed.input_schema, "mode") == {"type": "string", "enum": ["a", "b"]}
    assert postponed.input_schema["required"] == ["query", "mode"]
    assert "ctx" not in json.dumps(postponed.input_schema)
    outcome = await run_call(
        postponed, check_arguments(postponed, {"query": "xy", "mode": "a"}), ToolContext(key="k-1")
    )
    assert outcome.content == "xy a k-1"


async def test_names_of_the_enclosing_scope_are_resolved() -> None:
    class Local(BaseModel):
        number: int

    @dataclasses.dataclass
    class Outer:
        inner: Inner

    @dataclasses.dataclass
    class Inner:
        text: str

    @tool
    def use(local: Local, outer: Outer) -> str:
        return f"{local.number} {outer.inner.text}"

    given = {"local": {"number": 1}, "outer": {"inner": {"text": "ж"}}}
    assert (await run_call(use, check_arguments(use, given))).content == "1 ж"


async def test_a_type_that_refers_to_itself_without_a_name_is_refused() -> None:
    def bare(x): ...  # type: ignore[no-untyped-def]

    bare.__annotations__["x"] = "Endless"
    bare.__globals__["Endless"] = list["Endless"]  # type: ignore[name-defined]  # noqa: F821
    try:
        with pytest.raises(ToolDefinitionError, match="'x'"):
            tool(bare)
    finally:
        del bare.__globals__["Endless"]
