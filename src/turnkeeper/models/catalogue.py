"""The catalogue of models, read once from `models.toml` and checked while it is read."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from importlib import resources
from typing import Any

from turnkeeper.errors import ConfigurationError
from turnkeeper.models.ids import base_id
from turnkeeper.models.model import Model, PriceBand

__all__ = ("catalogue", "find", "read_catalogue")

_DECIMALS = frozenset({"input_price", "output_price", "cache_read_rate"})
_LISTS = frozenset({"thinking_rejected", "effort_levels", "unsettled", "sources"})
_NUMBERS = frozenset(
    {
        "context_window",
        "max_output",
        "cache_minimum",
        "image_limit",
        "image_tokens",
        "image_edge",
        "tool_overhead",
        "tool_overhead_forced",
    }
)
_DATES = frozenset({"released", "end_of_life", "read"})
_FLAGS = frozenset(
    {"between_tools", "system_role", "prefill", "conversation_binding", "structured_output", "compaction"}
)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "thinking_default": ("always_on", "on", "off", "unknown"),
    "thinking_disabled_tail": ("adaptive", "extended", "between_tools"),
    "thinking_off_effort": ("low", "medium", "high", "xhigh", "max"),
    "thinking_display": ("omitted", "summarized", "unknown"),
    "effort_default": ("low", "medium", "high", "xhigh", "max"),
    "forced_tool_choice": ("yes", "no", "not_with_thinking", "unknown"),
    "sampling": ("accepted", "one_of_two", "default_only", "removed", "unknown"),
    "window_overflow": ("accepted", "refused", "unknown"),
    "root_combinators": ("accepted", "refused", "unknown"),
}
_MAY_BE_UNKNOWN = (
    _DECIMALS | _NUMBERS | {"between_tools", "system_role", "effort_levels", "structured_output", "compaction"}
)
_REQUIRED = ("id", "sources", "read", "context_window", "max_output", "input_price", "output_price")
_FIELDS = frozenset(field.name for field in dataclasses.fields(Model)) - {"known"}


def catalogue() -> tuple[Model, ...]:
    """Every model of the catalogue, newest generation first (the order of the file)."""
    return tuple(_packaged().values())


def find(model_id: str) -> Model:
    """The model behind an id in any of its forms; `known` is False when the catalogue has none."""
    found = _packaged().get(base_id(model_id))
    return found if found is not None else Model(id=model_id, known=False)


@functools.cache
def _packaged() -> dict[str, Model]:
    text = resources.files("turnkeeper.models").joinpath("models.toml").read_text(encoding="utf-8")
    return {model.id: model for model in read_catalogue(text)}


def read_catalogue(text: str) -> tuple[Model, ...]:
    """The models of a TOML text in the form of `models.toml`. Raises ConfigurationError naming model and field."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the catalogue of models is not TOML ({error})") from error
    defaults = data.get("defaults", {})
    rows = data.get("model", [])
    if not (isinstance(defaults, dict) and isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise ConfigurationError("the catalogue of models needs a table [defaults] and tables [[model]]")
    models: dict[str, Model] = {}
    for position, row in enumerate(rows):
        name = row.get("id", f"row {position}")
        model = _model(name, {**defaults, **row})
        if model.id in models:
            raise ConfigurationError(f"the catalogue has {model.id} twice")
        models[model.id] = model
    return tuple(models.values())


def _model(name: str, row: Mapping[str, Any]) -> Model:
    missing = [field for field in _REQUIRED if field not in row]
    if missing:
        raise ConfigurationError(f"the catalogue's {name} lacks {', '.join(missing)}")
    values: dict[str, Any] = {}
    for field, value in row.items():
        if field not in _FIELDS:
            raise ConfigurationError(f"the catalogue's {name} has an unknown field {field}")
        values[field] = _value(name, field, value)
    stray = set(values.get("unsettled", ())) - _FIELDS
    if stray:
        raise ConfigurationError(f"the catalogue's {name} calls unsettled what no field is: {', '.join(sorted(stray))}")
    return Model(**values)


def _value(name: str, field: str, value: Any) -> Any:
    if value == "unknown" and field in _MAY_BE_UNKNOWN:
        return None
    if field in _DECIMALS:
        return _decimal(name, field, value)
    if field == "price_bands":
        return tuple(_band(name, band) for band in _of(name, field, value, list, "a list"))
    if field in _LISTS:
        return tuple(str(item) for item in _of(name, field, value, list, "a list"))
    if field in _NUMBERS:
        return _of(name, field, value, int, "a whole number")
    if field in _DATES:
        return _of(name, field, value, datetime.date, "a date")
    if field in _FLAGS:
        return _of(name, field, value, bool, "true or false")
    if field in _WORDS and value not in _WORDS[field]:
        raise ConfigurationError(f"the catalogue's {name}.{field} is {value!r}; known are {', '.join(_WORDS[field])}")
    return _of(name, field, value, str, "a text")


def _of(name: str, field: str, value: Any, kind: type, words: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigurationError(f"the catalogue's {name}.{field} must be {words}, not {value!r}")
    return value


def _decimal(name: str, field: str, value: Any) -> Decimal:
    try:
        number = Decimal(_of(name, field, value, str, "a decimal number as text"))
    except InvalidOperation:
        raise ConfigurationError(f"the catalogue's {name}.{field} is no decimal number: {value!r}") from None
    if not number.is_finite() or number < 0:
        raise ConfigurationError(f"the catalogue's {name}.{field} can't be {value!r}")
    return number


def _band(name: str, band: Any) -> PriceBand:
    if not isinstance(band, dict) or set(band) != {"above", "input_price", "output_price"}:
        raise ConfigurationError(f"the catalogue's {name}.price_bands needs above, input_price and output_price")
    return PriceBand(
        above=_of(name, "price_bands.above", band["above"], int, "a whole number"),
        input_price=_decimal(name, "price_bands.input_price", band["input_price"]),
        output_price=_decimal(name, "price_bands.output_price", band["output_price"]),
    )
