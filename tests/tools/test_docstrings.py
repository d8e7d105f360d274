"""Descriptions from docstrings: Google, NumPy and Sphinx style, and what is no style at all."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from turnkeeper.tools import ToolContext, tool


def google(city: str, days: int = 3, ctx: ToolContext | None = None) -> str:
    """Tell the weather.

    Uses the nearest station.

    Args:
        city (str): Name of the city, such as
            "Łódź".
        days (int, optional): How many days: 1 to 14.
        ctx: Secret plumbing.

    Returns:
        One line per day.

    Raises:
        ToolError: if there is none.
    """
    return city


def numpy_style(city: str, days: int = 3, ctx: ToolContext | None = None) -> str:
    """Tell the weather.

    Uses the nearest station.

    Parameters
    ----------
    city : str
        Name of the city, such as
        "Łódź".
    days : int, optional
        How many days: 1 to 14.
    ctx
        Secret plumbing.

    Returns
    -------
    str
        One line per day.
    """
    return city


def sphinx(city: str, days: int = 3, ctx: ToolContext | None = None) -> str:
    """Tell the weather.

    Uses the nearest station.

    :param str city: Name of the city, such as
        "Łódź".
    :param days: How many days: 1 to 14.
    :param ctx: Secret plumbing.
    :returns: One line per day.
    :raises ToolError: if there is none.
    """
    return city


@pytest.mark.parametrize("function", [google, numpy_style, sphinx])
def test_every_style_gives_the_same_definition(function: Any) -> None:
    definition = tool(function).definition
    assert definition["description"] == ("Tell the weather.\n\nUses the nearest station.\n\nReturns: One line per day.")
    assert definition["input_schema"]["properties"] == {
        "city": {"type": "string", "description": 'Name of the city, such as\n"Łódź".'},
        "days": {"type": "integer", "description": "How many days: 1 to 14.", "default": 3},
    }


def test_numpy_style_may_name_several_parameters_at_once() -> None:
    @tool
    def distance(x: float, y: float) -> float:
        """Distance.

        Parameters
        ----------
        x, y : float
            A coordinate.
        """
        return x + y

    described = [part["description"] for part in distance.input_schema["properties"].values()]
    assert described == ["A coordinate.", "A coordinate."]


def test_a_docstring_without_parameters_is_taken_whole() -> None:
    @tool
    def report() -> str:
        """Отчёт за день.

        Note: prices are in €.

        Example:
            report() -> "…"
        """
        return ""

    assert report.description == 'Отчёт за день.\n\nNote: prices are in €.\n\nExample:\n    report() -> "…"'


def test_what_only_looks_like_a_section_is_prose() -> None:
    @tool
    def odd(value: str) -> str:
        """Do.

        Args:
            this is no parameter
        :param
        ------
        """
        return value

    assert odd.description.startswith("Do.\n\nArgs:")
    assert "description" not in odd.input_schema["properties"]["value"]


def test_annotated_wins_over_the_docstring_and_names_that_do_not_exist_are_ignored() -> None:
    @tool
    def find(q: Annotated[str, Field(description="from Annotated")]) -> str:
        """Find.

        Args:
            q: from the docstring.
            gone: an old parameter.
        """
        return q

    assert find.input_schema["properties"] == {"q": {"type": "string", "description": "from Annotated"}}
    assert find.description == "Find."


def test_a_hidden_parameter_is_never_described() -> None:
    @tool
    def now(ctx: ToolContext) -> str:
        """Now.

        Args:
            ctx: internal detail.
        """
        return ""

    assert now.definition == {
        "name": "now",
        "description": "Now.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
