"""The work of `models`: the catalogue as a table."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.tables import Column
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.wording import thousands
from turnkeeper.models import Model, catalogue

__all__ = ("models",)

_FORCED = {"yes": "yes", "no": "no", "not_with_thinking": "without thinking", "unknown": "not known"}


def models(*, output_format: str, color: bool) -> int:
    """Print the catalogue."""
    terminal = Terminal(color=color)
    if output_format == "json":
        terminal.answer(json_text([_as_json(model) for model in catalogue()], indent=2) + "\n")
        return Exit.DONE
    columns = [
        Column("model"),
        Column("window", rank=2, right=True),
        Column("reply", rank=3, right=True),
        Column("in", right=True),
        Column("out", right=True),
        Column("forced choice", rank=1),
        Column("notes", rank=4, stretch="wrap", least=40),
    ]
    terminal.table(columns, [_row(model) for model in catalogue()])
    terminal.note("Window and reply in tokens, prices in USD per million tokens.")
    return Exit.DONE


def _row(model: Model) -> list[str]:
    return [
        model.id,
        thousands(model.context_window),
        thousands(model.max_output),
        _price(model.input_price),
        _price(model.output_price),
        _FORCED[model.forced_tool_choice],
        clean_line(_notes(model)),
    ]


def _notes(model: Model) -> str:
    notes = [
        f"above {thousands(band.above)} tokens {_price(band.input_price)} / {_price(band.output_price)}"
        for band in model.price_bands
    ]
    if model.end_of_life is not None:
        notes.append(f"until {model.end_of_life}")
    if model.note:
        notes.append(model.note)
    return "; ".join(notes)


def _price(price: Decimal | None) -> str:
    return "–" if price is None else f"{price:.2f}"


def _as_json(model: Model) -> dict[str, object]:
    return {
        field.name: getattr(model, field.name) if field.name != "price_bands" else _bands(model)
        for field in dataclasses.fields(model)
    }


def _bands(model: Model) -> list[dict[str, object]]:
    return [dataclasses.asdict(band) for band in model.price_bands]
