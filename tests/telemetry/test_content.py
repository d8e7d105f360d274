"""Content: absent unless asked for, then in the convention's form, bounded, without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeeper as tk
from tests.telemetry.conftest import MODEL, Kept
from turnkeeper.telemetry import from_environment
from turnkeeper.telemetry.content import LONGEST, input_json, value_json
from turnkeeper.testing import call, reply, script, thinking

pytestmark = pytest.mark.anyio

CANARIES = ("промпт-канарейка", "用户说", "ответ-канарейка", "аргумент", "результат", "думает")


@tk.tool(effect="read")
def look_up(order: str, password: str = "") -> str:
    """Look an order up."""
    return f"результат {order}"


async def one_turn(kept: Kept, **options: Any) -> None:
    asks = reply(thinking("думает"), call("look_up", {"order": "аргумент", "password": "hunter2"}, id="toolu_1"))
    agent = kept.agent(
        kept.api(script(asks, "ответ-канарейка")),
        telemetry=kept.telemetry(**options),
        tools=[look_up],
        system="промпт-канарейка",
    )
    await agent.run("用户说 sk-ant-api03-abcdefghijkl")


async def test_by_default_there_is_no_content_anywhere(kept: Kept) -> None:
    await one_turn(kept)
    exported = "".join(span.to_json(indent=None) for span in kept.spans)
    assert len(kept.spans) == 4
    for text in CANARIES:
        assert text not in exported
        assert json.dumps(text)[1:-1] not in exported


async def test_content_that_is_asked_for_has_the_form_of_the_convention(kept: Kept) -> None:
    await one_turn(kept, content=True)
    _, second = kept.named(f"chat {MODEL}")
    said: dict[str, Any] = {
        name: json.loads(str(value))
        for name, value in (second.attributes or {}).items()
        if name.startswith(("gen_ai.system", "gen_ai.input", "gen_ai.output", "gen_ai.tool.definitions"))
    }
    asked = {"type": "tool_call", "id": "toolu_1", "name": "look_up"}
    assert said["gen_ai.system_instructions"] == [{"type": "text", "content": "промпт-канарейка"}]
    assert said["gen_ai.input.messages"] == [
        {"role": "user", "parts": [{"type": "text", "content": "用户说 sk-***"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "думает"},
                {**asked, "arguments": {"order": "аргумент", "password": "***"}},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "toolu_1", "response": "результат аргумент"}],
        },
    ]
    assert said["gen_ai.output.messages"] == [
        {"role": "assistant", "parts": [{"type": "text", "content": "ответ-канарейка"}], "finish_reason": "end_turn"}
    ]
    (definition,) = said["gen_ai.tool.definitions"]
    assert (definition["type"], definition["name"], sorted(definition["parameters"]["properties"])) == (
        "function",
        "look_up",
        ["order", "password"],
    )
    called = dict(kept.only("execute_tool look_up").attributes or {})
    assert json.loads(str(called["gen_ai.tool.call.arguments"])) == {"order": "аргумент", "password": "***"}
    assert json.loads(str(called["gen_ai.tool.call.result"])) == "результат аргумент"
    assert "hunter2" not in "".join(span.to_json() for span in kept.spans)


async def test_the_environment_can_ask_for_content(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_TELEMETRY_CONTENT", "1")
    await one_turn(kept, content=None)
    assert "gen_ai.tool.call.result" in (kept.only("execute_tool look_up").attributes or {})


@pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
def test_telemetry_of_the_environment_is_off_unless_it_is_switched_on(value: str) -> None:
    assert from_environment({"TURNKEEPER_TELEMETRY": value}) is None
    assert from_environment({}) is None
    assert from_environment({"TURNKEEPER_TELEMETRY": "otel"}) is not None


def test_long_content_keeps_the_newest_messages_and_stays_json() -> None:
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "長" * 9000} for n in range(20)]
    text = input_json({"messages": messages})
    kept = json.loads(text)
    assert len(text) <= LONGEST
    assert [one["parts"][0]["content"][:3] for one in kept] == [f"{n} "[:3].ljust(3, "長") for n in range(13, 20)]
    assert len(kept[-1]["parts"][0]["content"]) == 8193


def test_a_value_that_is_too_long_is_only_counted() -> None:
    text = value_json({str(n): "x" * 5000 for n in range(20)})
    assert json.loads(text) == {"omitted_characters": 100151}


def test_values_are_masked_by_the_same_names_as_in_logs() -> None:
    given = {"private_key": "a", "signing-key": "b", "Cookie": "c", "senha": "d", "пароль": "e", "Authorization": "f"}
    assert json.loads(value_json(given | {"order": "24601"})) == {**dict.fromkeys(given, "***"), "order": "24601"}


def test_images_are_named_and_not_copied() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    found = json.loads(
        input_json({"messages": [{"role": "user", "content": [picture, {"type": "text", "text": "?"}]}]})
    )
    assert found == [{"role": "user", "parts": [{"type": "image"}, {"type": "text", "content": "?"}]}]


SAID = "Card 4111 1111 1111 1111, почта megan.o'neil+x@gmail.com, call +49 151 1234-5678"
CLEAN = "Card [card], почта [e-mail], call [phone]"


async def test_card_numbers_addresses_and_phones_are_in_no_span(kept: Kept) -> None:
    """Wherever content is recorded: the prompt, what the customer and the model say, arguments, results."""

    @tk.tool(effect="read")
    def pay(to: str, card: int) -> dict[str, Any]:
        """Pay."""
        return {"to": [to], "card": card, "amount": 100}

    asks = reply(thinking(SAID), SAID, call("pay", {"to": SAID, "card": 4111111111111111}, id="toolu_1"))
    agent = kept.agent(kept.api(script(asks, SAID)), telemetry=kept.telemetry(content=True), tools=[pay], system=SAID)
    found = await agent.run(SAID)
    assert found.text == SAID
    exported = "".join(span.to_json() for span in kept.spans)
    assert not [one for one in ("4111", "gmail.com", "o'neil", "1234-5678") if one in exported]
    called = dict(kept.only("execute_tool pay").attributes or {})
    assert json.loads(str(called["gen_ai.tool.call.arguments"])) == {"to": CLEAN, "card": "[card]"}
    result = json.loads(str(called["gen_ai.tool.call.result"]))
    assert result == f'{{"to":["{CLEAN}"],"card":[card],"amount":100}}'
    _, second = kept.named(f"chat {MODEL}")
    about = dict(second.attributes or {})
    assert json.loads(str(about["gen_ai.system_instructions"])) == [{"type": "text", "content": CLEAN}]
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        assert CLEAN in json.loads(str(about[name]))[0]["parts"][0]["content"]
