"""Names for the model: legal, unique, the same everywhere; the server hears its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeeper as tk
from tests.mcp.conftest import called, served, text
from turnkeeper.mcp.naming import legal_name

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONG = "x" * 120


@pytest.mark.anyio
async def test_names_that_the_api_refuses_are_mapped_and_the_server_hears_its_own() -> None:
    """Report B09-mcp-dotted-tool-name.

    https://github.com/github/copilot-cli/issues/2581
    """
    calls: list[tuple[str, object]] = []
    own = ("catalog.get-entity", "a/b", "a.b", "a b", LONG, f"{LONG}x", "погода", "天气")
    server = served({name: text(f"of {name}") for name in own}, calls=calls)
    async with tk.mcp.connect({"work.space": server}) as tools:
        assert len(set(tools.names)) == len(own) == len(tools)
        assert [name for name in tools.names if not LEGAL.fullmatch(name)] == []
        results = await called(tools, *((name, {}) for name in tools.names))
    assert [result["content"] for result in results] == [f"of {name}" for name in own]
    assert [name for name, _ in calls] == list(own)
    assert tools.names[:2] == ("work_space__catalog_get-entity_4eb53d60", "work_space__a_b_fa489c1b")


def test_another_process_gives_the_same_names() -> None:
    """Report B09-mcp-dotted-tool-name: a stored conversation still finds its tool."""
    own = [("work.space", "catalog.get-entity"), ("files", "read_file"), ("файлы", "читать")]
    program = f"from turnkeeper.mcp.naming import legal_name; print([legal_name(*one) for one in {own!r}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str([legal_name(*one) for one in own])
    assert legal_name("files", "read_file") == "files__read_file"


any_text = st.text(st.characters(), min_size=1, max_size=80)
odd = st.text("a_./", min_size=1, max_size=5)


@given(st.lists(st.tuples(odd | any_text, odd | any_text), unique=True, max_size=30))
def test_any_names_become_legal_and_stay_apart(own: list[tuple[str, str]]) -> None:
    names = [legal_name(server, tool) for server, tool in own]
    assert [name for name in names if not LEGAL.fullmatch(name)] == []
    assert len(set(names)) == len(own)


@pytest.mark.anyio
async def test_two_tools_of_one_name_for_the_model_are_not_both_on_offer() -> None:
    """A server may craft a name that is another's after mapping; the first one keeps it."""
    (first, right), (second, wrong) = ("w.s", ".....././...//.//."), ("w/s", "......///../.../..")
    name = legal_name(first, right)  # a mark is 32 bits long, and whoever looks finds two that are alike
    assert legal_name(second, wrong) == name
    async with tk.mcp.connect({first: served({right: text("right")}), second: served({wrong: text("wrong")})}) as tools:
        assert tools.names == (name,)
        assert tools.refused == {(second, wrong): f"its name for the model, {name!r}, is another tool's already"}
        (result,) = await called(tools, (name, {}))
    assert result["content"] == "right"


@pytest.mark.anyio
async def test_no_tool_can_be_named_to_look_like_another_s_marked_name() -> None:
    marked = legal_name("a__b", "c")
    crafted = marked.removeprefix("a__")
    own = {("a", crafted): "wrong", ("a__b", "c"): "right", ("a__b", crafted): "else", ("a", "b"): "plain"}
    names = {legal_name(*one) for one in own}
    assert (len(names), marked) == (4, "a__b__c_" + marked[-8:])
    async with tk.mcp.connect({"a": served({crafted: text("wrong")}), "a__b": served({"c": text("right")})}) as tools:
        assert (len(tools.names), tools.refused) == (2, {})
        (result,) = await called(tools, (marked, {}))
    assert result["content"] == "right"
