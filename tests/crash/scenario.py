"""The conversation that is killed: what the customer writes, what the model answers, which calls it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from turnkeeper.testing import call, reply

__all__ = ("ANSWERS", "EFFECTS", "MESSAGES", "TOOLS", "Asked", "Decision", "Scenario", "model_of", "result_of")

MESSAGES = ("Заказ 24601 пришёл разбитым 🙁 Помогите, пожалуйста.", "非常感谢!")
"""What the customer writes, in this order."""
ANSWERS = ("Готово", "Happy to help, any time.")
"""How the model's last word of each turn begins."""

EFFECTS = ("read", "idempotent", "transactional", "reconcile", "once")
TOOLS = dict(
    zip(EFFECTS, ("look_up_order", "notify_warehouse", "book_refund", "ship_replacement", "send_letter"), strict=True)
)
"""One tool of each effect."""

Decision = Literal["approve", "deny", "edit"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the model asks for."""

    effect: str
    order: str = "24601"

    @property
    def tool(self) -> str:
        """The tool's name."""
        return TOOLS[self.effect]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What one conversation is made of.

    `calls` are those of the first reply. `decision` is what staff says where the first call needs approval, None where
    none does. `stream` is how replies are asked for. `slow` makes each effect last until the lease has been renewed.
    """

    name: str
    calls: tuple[Asked, ...]
    decision: Decision | None = None
    stream: bool = True
    slow: bool = False


def result_of(tool: str, order: str) -> str:
    """What a tool returns, and what the world shows of it afterwards."""
    return f"{tool}: заказ {order} ✓"


def model_of(scenario: Scenario) -> Callable[[dict[str, Any]], Any]:
    """The model of the simulator: its answer follows from the request alone, as often as it is asked."""

    def answer(request: dict[str, Any]) -> Any:
        content = request["messages"][-1]["content"]
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        if texts == [MESSAGES[0]]:
            asked = [call(one.tool, {"order": one.order}) for one in scenario.calls]
            return reply("Сейчас посмотрю.", *asked)
        if texts == [MESSAGES[1]]:
            return reply(ANSWERS[1])
        results = [block["content"] for block in content if block["type"] == "tool_result"]
        return reply(f"{ANSWERS[0]}: {'; '.join(map(str, results))}")

    return answer
