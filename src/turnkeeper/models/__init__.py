"""What each Claude model can do and what it costs, as data with source and date (`models.toml`).

`find` takes any form of a model id (plain, dated, `-latest`, Amazon Bedrock, Vertex AI); an unknown id gives a Model
with `known=False` that allows everything and has no price. `catalogue` lists what is known.
"""

from __future__ import annotations

from turnkeeper.models.catalogue import catalogue, find, read_catalogue
from turnkeeper.models.ids import base_id
from turnkeeper.models.model import ForcedToolChoice, Model, PriceBand, Sampling, ThinkingDefault
from turnkeeper.models.pricing import cost_by_model, cost_of

__all__ = (
    "ForcedToolChoice",
    "Model",
    "PriceBand",
    "Sampling",
    "ThinkingDefault",
    "base_id",
    "catalogue",
    "cost_by_model",
    "cost_of",
    "find",
    "read_catalogue",
)
