"""What somebody new gives or forgets, and what they are told."""

from __future__ import annotations

import time
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.errors import HistoryError, InputError, LimitError
from turnkeeper.testing import MessagesAPI, faults, script


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "message: must be text or a non-empty list of content blocks"),
        (7, "message: must be text or a non-empty list of content blocks"),
        ({"type": "text", "text": "x"}, "message: must be text or a non-empty list"),
        (b"x", "message.content: bytes can't be sent"),
        ("", "message: the text is empty; write something to send"),
    ],
)
def test_a_prompt_that_is_none_is_named(given: Any, says: str) -> None:
    api = MessagesAPI(script("never"))
    with pytest.raises(InputError) as raised:
        agent_over(api).run_sync(given)
    assert str(raised.value).startswith(says)
    assert list(api.requests) == []


@pytest.mark.parametrize("given", [7, "привет", {"role": "user", "content": "x"}, b"x", {1}])
def test_a_list_that_is_none_is_named(given: Any) -> None:
    kind = type(given).__name__
    for answer in (agent_over(MessagesAPI()).answer_sync, lambda one: tk.run_conversation(one, client=MessagesAPI())):
        with pytest.raises(HistoryError, match=f"messages: a list of messages is wanted, not a {kind}"):
            answer(given)


@pytest.mark.parametrize("name", ["requests", "calls", "tokens"])
@pytest.mark.parametrize("value", [1.5, "2.5", True])
def test_half_a_request_is_no_limit(name: str, value: Any) -> None:
    with pytest.raises(LimitError, match=f"the limit on {name} must be a (whole )?number, not {value!r}"):
        tk.Agent(client=MessagesAPI(), limits=tk.Limits(**{name: value}))
    assert tk.Agent(client=MessagesAPI(), limits=tk.Limits(**{name: 2})).limits == tk.Limits(**{name: 2})


def test_money_and_time_may_have_parts() -> None:
    limits = tk.Limits(seconds=1.5, usd=0.25)
    assert tk.Agent(client=MessagesAPI(), limits=limits).limits == limits


def test_retries_over_the_simulator_take_no_time_unless_it_is_said() -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    fails = {1: faults.rate_limited(retry_after=50), 2: faults.overloaded()}
    began = time.monotonic()
    assert tk.Agent(client=MessagesAPI(script("ok"), faults=fails)).run_sync("x").text == "ok"
    assert time.monotonic() - began < 30
    assert tk.Agent(client=MessagesAPI(script("ok"), faults=fails), sleep=wait).run_sync("x").text == "ok"
    assert tk.Agent(client=MessagesAPI(script("ok"), faults=fails, sleep=wait)).run_sync("x").text == "ok"
    assert [waited[0], waited[2]] == [50, 50]
    assert len(waited) == 4
