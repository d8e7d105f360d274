"""Every model of the catalogue and every imitated endpoint, under every choice: the same end, and never in silence."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.models import catalogue
from turnkeeper.testing import MessagesAPI, call, reply

pytestmark = pytest.mark.anyio

MODELS = [model.id for model in catalogue()]
CHOICES = ("lookup", "any", "none")
ENDPOINTS: dict[str, dict[str, int]] = {
    # Requests until the choice is kept. Ollama passes over all; llama.cpp takes a name for "any" and passes over none;
    # vLLM passes over a name and refuses none, as LiteLLM does.
    "ollama": {"lookup": 2, "any": 2, "none": 2},
    "llama.cpp": {"lookup": 2, "any": 1, "none": 2},
    "vllm": {"lookup": 2, "any": 1, "none": 2},
    "litellm": {"lookup": 1, "any": 1, "none": 2},
}


class Model:
    """Does what it is made to (`tool_choice` as it arrives), then what it is told in words, then as it likes.

    As it likes: a call of the wrong tool where a call is not wanted or could be any; text where a call is wanted. It is
    deaf to the first `deaf` times it is told.
    """

    def __init__(self, choice: str, *, deaf: int = 0) -> None:
        self._choice = choice
        self._deaf = deaf

    def __call__(self, request: dict[str, Any]) -> Any:
        last = request["messages"][-1]
        if any(block["type"] == "tool_result" for block in last["content"]):
            return reply("Done.")
        made = request.get("tool_choice", {})
        told = [block["text"] for block in last["content"] if "From the application" in block["text"]]
        obeys = len(told) > self._deaf
        if made.get("type") == "none" or (obeys and "call no tool" in told[-1]):
            return reply("Готово.")
        if made.get("type") == "tool" or (obeys and "`lookup`" in told[-1]):
            return reply(call("lookup", {"q": "x"}))
        if made.get("type") == "any" or (obeys and "at least one" in told[-1]):
            return reply(call("wander", {}))
        return reply(call("wander", {})) if self._choice == "none" else reply("As you like.")


class World:
    """Two tools, and what they did."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def tools(self) -> list[Any]:
        def lookup(q: str) -> str:
            """Look up."""
            self.did.append("lookup")
            return q

        def wander() -> str:
            """Wander."""
            self.did.append("wander")
            return "somewhere"

        return [lookup, wander]


EXPECTED = {"lookup": (["lookup"], "Done."), "any": (["wander"], "Done."), "none": ([], "Готово.")}


async def kept(make: Make, api: MessagesAPI, choice: str, model: str) -> int:
    """One turn under the choice, checked to its end; gives how many requests it took until the choice was kept."""
    world = World()
    found = await make(api, model=model, tools=world.tools(), tool_choice=choice, max_tokens=4000).run("Go")
    did, text = EXPECTED[choice]
    assert (found.status, found.text, world.did) == ("completed", text, did)
    assert [one.name for one in found.calls] == did
    called = [b["name"] for m in found.messages for b in m["content"] if m["role"] == "assistant" and "name" in b]
    assert called == did
    return len(api.requests) - len(did)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("model", MODELS)
async def test_every_model_of_the_catalogue_keeps_to_every_choice_with_one_request(
    make: Make, model: str, choice: str
) -> None:
    api = MessagesAPI(Model(choice))
    assert await kept(make, api, choice, model) == 1
    api.assert_all_accepted()


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("endpoint", sorted(ENDPOINTS))
async def test_every_compatible_endpoint_keeps_to_every_choice(make: Make, endpoint: str, choice: str) -> None:
    """Sources: ollama/ollama#17921, ggml-org/llama.cpp#26535, vllm-project/vllm#35836 and #50477,
    BerriAI/litellm#24443.
    """
    api = MessagesAPI(Model(choice), imitation=endpoint)
    assert await kept(make, api, choice, "qwen3") == ENDPOINTS[endpoint][choice]


@pytest.mark.parametrize(
    ("endpoint", "choice"), [(name, one) for name, row in ENDPOINTS.items() for one in CHOICES if row[one] > 1]
)
async def test_a_model_that_does_not_listen_at_once_is_reminded(make: Make, endpoint: str, choice: str) -> None:
    api = MessagesAPI(Model(choice, deaf=1), imitation=endpoint)
    assert await kept(make, api, choice, "qwen3") == ENDPOINTS[endpoint][choice] + 1


@pytest.mark.parametrize(
    ("endpoint", "choice"),
    [
        *(("ollama", choice) for choice in CHOICES),
        *((model, choice) for model in ("claude-fable-5-1", "claude-opus-5-5") for choice in ("lookup", "any")),
    ],
)
async def test_one_that_never_listens_ends_in_the_error_and_has_run_nothing(
    make: Make, endpoint: str, choice: str
) -> None:
    imitation = endpoint if endpoint in ENDPOINTS else None
    world, api = World(), MessagesAPI(Model(choice, deaf=99), imitation=imitation)
    agent = make(api, model="qwen3" if imitation else endpoint, tools=world.tools(), tool_choice=choice)
    with pytest.raises(tk.errors.ToolChoiceUnmet) as raised:
        await agent.run("Go")
    assert (world.did, len(api.requests), raised.value.replies) == ([], 3, 3)
    came = {"none": "wander"}.get(choice, "As you like.")
    assert [block.get("name") or block["text"] for block in raised.value.came if block.get("text") != ""] == [came]
