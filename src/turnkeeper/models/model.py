"""One model: its capabilities, limits and prices."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from turnkeeper.types import Usage

__all__ = ("ForcedToolChoice", "Model", "PriceBand", "Sampling", "ThinkingDefault")

ForcedToolChoice: TypeAlias = Literal["yes", "no", "not_with_thinking", "unknown"]
"""Whether `tool_choice` any/tool is taken; `not_with_thinking`: not beside `thinking.type: "enabled"`."""
ThinkingDefault: TypeAlias = Literal["always_on", "on", "off", "unknown"]
"""What a request without `thinking` does; `always_on` can't be switched off."""
Sampling: TypeAlias = Literal["accepted", "one_of_two", "default_only", "removed", "unknown"]
"""`temperature`, `top_p`, `top_k` under API version 2023-06-01 (2026-10-21 takes them from no model)."""

_MILLION = Decimal(1_000_000)
_WRITE_5M = Decimal("1.25")
_WRITE_1H = Decimal(2)


@dataclass(frozen=True, slots=True)
class PriceBand:
    """Prices of a request whose prompt has more than `above` tokens; they hold for the whole request."""

    above: int
    input_price: Decimal
    output_price: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of one model id. None and "unknown" mean: not settled, so nothing is refused because of it.

    Prices are USD per million tokens. `cache_read_rate` is a factor on the input price; writes cost 1.25 times the
    input price for five minutes and twice for an hour. `cache_minimum` is the shortest cached prefix, in tokens.
    `thinking_rejected` lists the values of `thinking.type` that answer 400; `between_tools` says whether the model
    takes that value; `thinking_off_effort` is the highest effort beside thinking switched off. `tool_overhead` are the
    tokens that having tools adds to the prompt, `tool_overhead_forced` with tool_choice any or tool. `image_limit`
    counts images of a request, `image_tokens` is the most that one costs, `image_edge` the pixels it is scaled to.
    `structured_output` says whether it takes `output_config.format`.
    `compaction` says whether the API compacts conversations for the model (`compact_20260112`).
    `window_overflow` says what happens to input plus max_tokens beyond the window. `unsettled` names the fields whose
    value rests on reports or inference only.
    """

    id: str
    known: bool = True
    released: datetime.date | None = None
    end_of_life: datetime.date | None = None
    context_window: int | None = None
    max_output: int | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    price_bands: tuple[PriceBand, ...] = ()
    cache_read_rate: Decimal | None = None
    cache_minimum: int | None = None
    thinking_default: ThinkingDefault = "unknown"
    thinking_rejected: tuple[str, ...] = ()
    thinking_disabled_tail: str = "adaptive"
    thinking_off_effort: str | None = None
    thinking_display: Literal["omitted", "summarized", "unknown"] = "unknown"
    between_tools: bool | None = None
    effort_levels: tuple[str, ...] | None = None
    effort_default: str | None = None
    forced_tool_choice: ForcedToolChoice = "unknown"
    system_role: bool | None = None
    prefill: bool = True
    conversation_binding: bool = False
    structured_output: bool | None = None
    sampling: Sampling = "unknown"
    window_overflow: Literal["accepted", "refused", "unknown"] = "unknown"
    root_combinators: Literal["accepted", "refused", "unknown"] = "unknown"
    compaction: bool | None = None
    image_limit: int | None = None
    image_tokens: int | None = None
    image_edge: int | None = None
    tool_overhead: int | None = None
    tool_overhead_forced: int | None = None
    unsettled: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    read: datetime.date | None = None
    note: str = ""

    def prices(self, prompt_tokens: int) -> tuple[Decimal, Decimal] | None:
        """Input and output price of a request with that many prompt tokens (cached ones counted); None if unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        price = (self.input_price, self.output_price)
        for band in self.price_bands:
            if prompt_tokens > band.above:
                price = (band.input_price, band.output_price)
        return price

    def most(self, prompt_tokens: int, output_tokens: int, *, cached: bool) -> Decimal | None:
        """USD for a request with that many tokens if nothing is read from the cache; None without a known price.

        Where prompts are `cached`, all of it may be written, for an hour.
        """
        prices = self.prices(prompt_tokens)
        if prices is None:
            return None
        per_input, per_output = prices
        return (prompt_tokens * per_input * (_WRITE_1H if cached else 1) + output_tokens * per_output) / _MILLION

    def cost(self, usage: Usage) -> Decimal | None:
        """USD for the usage of one request; None without a known price (also of a cache read that was used)."""
        prompt = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        prices = self.prices(prompt)
        if prices is None:
            return None
        if self.cache_read_rate is None and usage.cache_read_input_tokens:
            return None
        per_input, per_output = prices
        input_units = (
            Decimal(usage.input_tokens)
            + usage.cache_read_input_tokens * (self.cache_read_rate or Decimal(0))
            + usage.cache_write_5m_input_tokens * _WRITE_5M
            + usage.cache_write_1h_input_tokens * _WRITE_1H
        )
        return (input_units * per_input + usage.output_tokens * per_output) / _MILLION
