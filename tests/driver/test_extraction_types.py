"""What a type checker infers of `extract`: this file is checked as strictly as the rest, and `assert_type` says so."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, assert_type

import pytest
from pydantic import BaseModel

from tests.driver.conftest import Make
from turnkeeper.testing import MessagesAPI, script

pytestmark = pytest.mark.anyio


class Model(BaseModel):
    n: int


@dataclass
class Data:
    n: int


class Dictionary(TypedDict):
    n: int


class Mood(enum.Enum):
    GOOD = "good"


async def test_the_type_that_is_asked_for_is_the_type_that_comes(make: Make) -> None:
    one, wrapped = '{"n": 1}', '{"value": [{"n": 1}]}'
    agent = make(
        MessagesAPI(script(one, one, one, wrapped, '{"value": "good"}', '{"value": 3}', '{"value": "a"}', one))
    )
    model = agent.extract(Model, "1")
    assert_type(model, Model)
    assert model.n == 1
    data = agent.extract(Data, "1")
    assert_type(data, Data)
    assert data.n == 1
    dictionary = agent.extract(Dictionary, "1")
    assert_type(dictionary, Dictionary)
    assert dictionary["n"] == 1
    several = agent.extract(list[Model], "1")
    assert_type(several, list[Model])
    assert several[0].n == 1
    mood = agent.extract(Mood, "good")
    assert_type(mood, Mood)
    assert mood is Mood.GOOD
    number = await agent.extract_async(int, "3")
    assert_type(number, int)
    assert number == 3
    letter = agent.extract(Literal["a", "b"], "a")
    assert_type(letter, Any)  # no class, and Python has no way yet to say what type such a value stands for
    assert letter == "a"
    plain = await agent.extract_async({"type": "object", "properties": {"n": {"type": "integer"}}}, "1")
    assert_type(plain, Any)
    assert plain == {"n": 1}
