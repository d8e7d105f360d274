"""What a reply cost: each of its steps at the price of the model that served it.

A reply may take several steps: the API compacts the conversation first, or another model answers in place of one that
declined. `usage.iterations` lists them; a step names its model where it is not the request's (SDK 2.14.0,
types/beta/beta_iterations_usage.py). The counts beside the list leave some of the steps out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from turnkeeper.models.catalogue import find
from turnkeeper.models.model import Model
from turnkeeper.types import Usage

__all__ = ("cost_by_model", "cost_of")


def cost_of(usage: Mapping[str, Any], model: Model, *, answered: object = None) -> Decimal | None:
    """USD for a reply's `usage` object; None if a step has no known price.

    `model` is the one that was asked, `answered` the id that the reply names.
    """
    parts = cost_by_model(usage, model, answered=answered)
    prices = [cost for _, _, cost in parts]
    if any(cost is None for cost in prices):
        return None
    return sum((cost for cost in prices if cost is not None), Decimal(0))


def cost_by_model(
    usage: Mapping[str, Any], model: Model, *, answered: object = None
) -> Sequence[tuple[str, Usage, Decimal | None]]:
    """The steps of a reply: the id of the model that served each, its tokens, its cost in USD."""
    billed = Usage.of(usage)
    steps = usage.get("iterations")
    if isinstance(steps, list) and steps:
        each = [(_served(step, model), Usage.counted(step)) for step in steps]
        if sum(counts.total_tokens for _, counts in each) == billed.total_tokens:
            return [(served.id, counts, served.cost(counts)) for served, counts in each]
    served = _known(answered) or model
    return [(served.id, billed, served.cost(billed))]


def _served(step: Any, asked: Model) -> Model:
    return (_known(step.get("model")) if isinstance(step, Mapping) else None) or asked


def _known(model_id: object) -> Model | None:
    found = find(model_id) if isinstance(model_id, str) else None
    return found if found is not None and found.known else None
