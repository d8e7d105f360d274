"""`agent.extract(Type, text)`: a checked value, one chance to mend it, or an error with what came."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.driver.extracting import INSTRUCTION
from turnkeeper.models import catalogue
from turnkeeper.testing import MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio

MODELS = [model.id for model in catalogue()]


class Sentiment(BaseModel):
    """How a text feels."""

    positive: float = Field(ge=0.0, le=1.0)
    negative: float = Field(ge=0.0, le=1.0)


@dataclasses.dataclass
class Order:
    number: int
    note: str = ""


class Person(TypedDict):
    name: str


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


GOOD = {"positive": 0.9, "negative": 0.0}
CATS = Sentiment(positive=0.9, negative=0.0)


def record(given: Any) -> dict[str, Any]:
    return reply(call("record", given))


@pytest.mark.parametrize("model", MODELS)
async def test_every_model_of_the_catalogue_gives_a_value_with_one_request(make: Make, model: str) -> None:
    def answer(request: dict[str, Any]) -> Any:
        wants_json = "format" in request.get("output_config", {})
        return reply(json.dumps(GOOD)) if wants_json else record(GOOD)

    api = MessagesAPI(answer)
    assert await make(api, model=model).extract_async(Sentiment, "I love my cats! 🐈") == CATS
    assert len(api.requests) == 1
    api.assert_all_accepted()


async def test_where_the_model_has_structured_output_it_is_asked_for(make: Make) -> None:
    api = MessagesAPI(script(json.dumps(GOOD)))
    agent = make(api, system="You read reviews.", extra={"output_config": {"effort": "low"}})
    assert await agent.extract_async(Sentiment, "I love my cats!") == CATS
    body = sent(api, 0)
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert body["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert body["system"] == f"You read reviews.\n\n{INSTRUCTION}"
    assert ("tools" in body, "tool_choice" in body) == (False, False)
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "I love my cats!"}]}]
    api.assert_all_accepted()


@pytest.mark.parametrize("endpoint", ["ollama", "llama.cpp", "vllm", "litellm"])
async def test_elsewhere_it_is_a_forced_call_that_ends_the_turn(make: Make, endpoint: str) -> None:
    api = MessagesAPI(script(record(GOOD)), imitation=endpoint)
    assert await make(api, model="qwen3").extract_async(Sentiment, "I love my cats!") == CATS
    assert len(api.requests) == 1
    assert sent(api, 0)["tool_choice"] == {"type": "tool", "name": "record", "disable_parallel_tool_use": True}
    [tool] = sent(api, 0)["tools"]
    assert tool["input_schema"]["properties"]["positive"] == {"type": "number", "minimum": 0.0, "maximum": 1.0}


async def test_so_it_is_for_a_type_that_structured_output_can_not_express(make: Make) -> None:
    api = MessagesAPI(script(record({"name": "a", "children": [{"name": "b"}]})))
    found = await make(api).extract_async(Tree, "a, and in it b")
    assert found == Tree(name="a", children=[Tree(name="b")])
    assert "output_config" not in sent(api, 0)
    api.assert_all_accepted()


async def test_and_where_the_api_can_not_compile_the_schema(make: Make) -> None:
    api = MessagesAPI(script(faults.bad_request("Schema is too complex for compilation."), record(GOOD)))
    assert await make(api).extract_async(Sentiment, "I love my cats!") == CATS
    assert [("output_config" in sent(api, n), "tools" in sent(api, n)) for n in range(2)] == [
        (True, False),
        (False, True),
    ]


class Shop(BaseModel):
    name: str = Field(min_length=1, max_length=50, pattern=r"^\S")
    opened: datetime.date | None = None
    rows: list[Annotated[int, Field(ge=0, multiple_of=5)]] = Field(default=[], min_length=0, max_length=9)
    pair: tuple[int, str] = (0, "")
    kind: Literal["day", "night"] = "day"
    owner: Order | Tree | None = None
    nested: list[list[Sentiment]] = []


@pytest.mark.parametrize(
    ("kind", "came"),
    [
        (Shop, {"name": "Чайная", "opened": "2026-11-30", "rows": [5], "owner": {"number": 1}}),
        (list[Shop], {"value": []}),
        (Literal["a", "b"], {"value": "a"}),
        (tuple[int, str], {"value": [1, "x"]}),
        (datetime.date | None, {"value": None}),
        (dict[str, int], {"value": {"a": 1}}),
        (Tree, {"name": "a"}),
    ],
)
async def test_whatever_the_type_the_request_is_one_that_the_api_accepts(make: Make, kind: Any, came: Any) -> None:
    """The simulator holds the schema of a structured output to what can be compiled."""

    def answer(request: dict[str, Any]) -> Any:
        return reply(json.dumps(came)) if "output_config" in request else record(came)

    api = MessagesAPI(answer)
    await make(api).extract_async(kind, "text")
    assert len(api.requests) == 1
    api.assert_all_accepted()


async def test_another_refusal_of_the_api_is_raised(make: Make) -> None:
    api = MessagesAPI(script(faults.bad_request("credit balance is too low")))
    with pytest.raises(tk.APIError, match="credit"):
        await make(api).extract_async(Sentiment, "I love my cats!")
    assert len(api.requests) == 1


@pytest.mark.parametrize("native", [True, False])
async def test_what_does_not_fit_is_asked_for_once_more_and_the_model_sees_why(make: Make, native: bool) -> None:
    bad = {"positive": 7, "negative": 0}
    came = [json.dumps(bad), json.dumps(GOOD)] if native else [record(bad), record(GOOD)]
    api = MessagesAPI(script(*came), imitation=None if native else "ollama")
    agent = make(api, model="claude-opus-4-8" if native else "qwen3")
    assert await agent.extract_async(Sentiment, "I love my cats!") == CATS
    last = sent(api, 1)["messages"][-1]["content"][-1]["text"]
    assert last == (
        "What you gave does not fit:\n- positive: must be less than or equal to 1; got 7\n"
        "Give the whole record again, with this mended."
    )
    if native:
        api.assert_all_accepted()


@pytest.mark.parametrize("native", [True, False])
async def test_what_does_not_fit_then_either_is_an_error_with_what_came(make: Make, native: bool) -> None:
    bad = {"positive": 7, "negative": 0}
    came = json.dumps(bad) if native else record(bad)
    api = MessagesAPI(script(came, came), imitation=None if native else "ollama")
    agent = make(api, model="claude-opus-4-8" if native else "qwen3")
    with pytest.raises(tk.errors.ExtractionError) as raised:
        await agent.extract_async(Sentiment, "I love my cats!")
    error = raised.value
    assert (error.reason, error.faults) == ("invalid", ("positive: must be less than or equal to 1; got 7",))
    assert json.loads(error.came) == bad
    assert str(error).startswith("what came is no Sentiment: positive: must be less than or equal to 1; got 7; it was:")
    assert error.reply.status == "completed"
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("came", "reason", "says"),
    [
        (reply("I can't.", stop_reason="refusal"), "refused", "the model refused"),
        (reply('{"positive": 0.', stop_reason="max_tokens"), "truncated", "its reply was cut off; it was: "),
    ],
)
async def test_a_refusal_and_a_reply_that_was_cut_off_are_told_apart(
    make: Make, came: Any, reason: str, says: str
) -> None:
    api = MessagesAPI(script(came, then="last"))
    with pytest.raises(tk.errors.ExtractionError, match=says) as raised:
        await make(api).extract_async(Sentiment, "I love my cats!")
    assert raised.value.reason == reason


async def test_a_reply_that_was_cut_off_is_asked_for_with_more_room_first(make: Make) -> None:
    cut = reply('{"positive": 0.', stop_reason="max_tokens")
    api = MessagesAPI(script(cut, json.dumps(GOOD)))
    assert await make(api).extract_async(Sentiment, "I love my cats!") == CATS
    assert sent(api, 1)["max_tokens"] > sent(api, 0)["max_tokens"]


async def test_a_model_that_makes_no_record_ends_in_the_same_error(make: Make) -> None:
    api = MessagesAPI(script("They love cats.", then="last"), imitation="ollama")
    with pytest.raises(tk.errors.ExtractionError, match="the model made no record of Sentiment") as raised:
        await make(api, model="llama3.2").extract_async(Sentiment, "I love my cats!")
    assert (raised.value.reason, "They love cats." in raised.value.came) == ("tool_choice_unmet", True)
    assert isinstance(raised.value.__cause__, tk.errors.ToolChoiceUnmet)


async def test_of_several_records_the_first_counts_and_one_that_is_no_json_is_asked_for_again(make: Make) -> None:
    twice = reply(call("record", GOOD), call("record", {"positive": 0, "negative": 1}))
    broken = reply(call("record", raw_input='{"positive": 0.9, "nega'))
    api = MessagesAPI(script(twice, broken, record(GOOD)), imitation="ollama")
    agent = make(api, model="qwen3")
    assert await agent.extract_async(Sentiment, "I love my cats!") == CATS
    assert await agent.extract_async(Sentiment, "I love my cats!") == CATS
    assert len(api.requests) == 3


async def test_a_limit_that_is_met_is_named(make: Make) -> None:
    api = MessagesAPI(script("no", then="last"), imitation="ollama")
    agent = make(api, model="llama3.2", limits=tk.Limits(requests=1))
    with pytest.raises(tk.errors.ExtractionError) as raised:
        await agent.extract_async(Sentiment, "I love my cats!")
    assert raised.value.reason == "requests"


@pytest.mark.parametrize("blank", ["", " \n\t", []])
async def test_an_empty_text_is_refused_before_anything_is_sent(make: Make, blank: Any) -> None:
    api = MessagesAPI(script("x"))
    with pytest.raises(tk.errors.InputError):
        await make(api).extract_async(Sentiment, blank)
    assert api.requests == []


@pytest.mark.parametrize("text", ["Люблю котов", "我爱我的猫", "אני אוהב חתולים", "🐈‍⬛ a\ud83d"])
async def test_any_script_goes_there_and_comes_back(make: Make, text: str) -> None:
    whole = text.encode("utf-8", "replace").decode() if "\ud83d" not in text else text.replace("\ud83d", "\ufffd")
    api = MessagesAPI(script(json.dumps({"name": whole}, ensure_ascii=False)))
    assert await make(api).extract_async(Person, text) == {"name": whole}
    assert sent(api, 0)["messages"][0]["content"][0]["text"] == whole


async def test_the_agents_own_tools_and_choice_are_no_part_of_it(make: Make) -> None:
    def lookup() -> str:
        """Look up."""
        raise AssertionError

    api = MessagesAPI(script(json.dumps(GOOD), record(GOOD)))
    agent = make(api, tools=[lookup], tool_choice="lookup")
    assert await agent.extract_async(Sentiment, "I love my cats!") == CATS
    assert "tools" not in sent(api, 0)
    assert agent.tools.names == ("lookup",)


async def test_content_blocks_are_read_too(make: Make) -> None:
    api = MessagesAPI(script(json.dumps({"number": 24601, "note": "срочно"})))
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Order 24601"}}
    assert await make(api).extract_async(Order, [document]) == Order(24601, "срочно")
    api.assert_all_accepted()


async def test_one_agent_extracts_many_at_once_and_describes_each_type_once(make: Make) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return reply(json.dumps({"value": request["messages"][0]["content"][0]["text"].split()}))

    api = MessagesAPI(answer)
    agent = make(api)
    texts = [f"a{n} b{n}" for n in range(10)]
    found = await asyncio.gather(*(agent.extract_async(list[str], text) for text in texts))
    assert found == [text.split() for text in texts]
    assert len({json.dumps(sent(api, n)["output_config"]) for n in range(10)}) == 1


async def test_a_json_schema_gives_plain_json(make: Make) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    api = MessagesAPI(script('{"n": 0}', '{"n": 3}'))
    assert await make(api).extract_async(schema, "three") == {"n": 3}


async def test_the_synchronous_door_works_inside_a_running_event_loop(make: Make) -> None:
    api = MessagesAPI(script(json.dumps(GOOD), '{"value": "ham"}'))
    agent = make(api)
    assert agent.extract(Sentiment, "I love my cats!") == CATS
    assert agent.extract(Literal["spam", "ham"], "Dear friend") == "ham"


async def test_what_can_not_be_described_is_refused_before_anything_is_sent(make: Make) -> None:
    with pytest.raises(tk.errors.InputError, match="can't be extracted"):
        make(MessagesAPI(script("x"))).extract(object(), "text")
