"""`--tools MODULE[:NAME]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Serve
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.toolbox import load_tools


@pytest.fixture(autouse=True)
def forget_modules(home: Path) -> Iterator[None]:
    """Modules that a test loaded are not there for the next one."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(home)):
            del sys.modules[name]


def names(specs: list[str]) -> list[str]:
    return [getattr(tool, "name", getattr(tool, "__name__", "?")) for tool in load_tools(specs)]


def test_a_file_gives_all_its_tools_in_their_order(tools: str) -> None:
    assert names([tools]) == ["weather", "broken", "pay"]
    assert names(["my_tools.py"]) == ["weather", "broken", "pay"]


def test_a_module_of_the_working_folder_is_found_as_python_m_would(tools: str, home: Path) -> None:
    assert names(["my_tools"]) == ["weather", "broken", "pay"]
    (home / "shop").mkdir()
    (home / "shop" / "__init__.py").write_text("")
    (home / "shop" / "orders.py").write_text(
        "import turnkeeper as tk\n@tk.tool\ndef find() -> str:\n    'Find.'\n    return 'x'\n"
    )
    assert names(["shop.orders"]) == ["find"]


def test_a_name_gives_one_tool_a_plain_function_or_a_list(tools: str) -> None:
    assert names([f"{tools}:broken"]) == ["broken"]
    assert names(["my_tools:plain"]) == ["plain"]
    assert names(["my_tools:both"]) == ["weather", "plain"]


def test_the_same_tool_named_twice_is_there_once(tools: str) -> None:
    assert names(["my_tools:weather", "my_tools"]) == ["weather", "broken", "pay"]


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("nowhere", 2, "there is no module 'nowhere'; for a file write its path, such as ./nowhere.py"),
        ("nowhere.py", 2, "there is no file nowhere.py"),
        ("not a module", 2, "is neither a module's name nor a .py file"),
        ("", 2, "is neither a module's name nor a .py file"),
        ("my_tools:wether", 2, "my_tools has nothing named 'wether'; its tools are weather, broken, pay"),
        ("my_tools:__doc__", 2, "is neither a tool, a function nor a list of them, but str"),
        ("empty_tools", 2, "no function in it is marked with @tool"),
        ("raising.py", 1, "loading it failed with ZeroDivisionError: division by zero ({home}/raising.py:1)"),
        ("leaving.py", 1, "loading it failed with SystemExit: 3 ({home}/leaving.py:1)"),
        ("missing_import.py", 1, "loading it failed with ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("syntax.py", 1, "loading it failed with SyntaxError: invalid syntax ({home}/syntax.py:1)"),
        ("beside.py", 1, "loading it failed with SyntaxError: invalid syntax ({home}/syntax.py:1)"),
        ("undescribed.py", 1, "({home}/undescribed.py:2)"),
    ],
)
def test_what_cant_be_loaded_is_said_in_one_line(
    run: Run, tools: str, home: Path, spec: str, code: int, said: str
) -> None:
    assert tools
    (home / "empty_tools.py").write_text("x = 1\n")
    (home / "raising.py").write_text("1 / 0\n")
    (home / "leaving.py").write_text("raise SystemExit(3)\n")
    (home / "missing_import.py").write_text("import nothing_like_it\n")
    (home / "syntax.py").write_text("def f(:\n")
    (home / "beside.py").write_text("import syntax\n")
    (home / "undescribed.py").write_text("import turnkeeper as tk\n@tk.tool\ndef f(*args): ...\n")
    done = run("ask", "-T", spec, "hello")
    assert done.exit_code == code
    assert done.stderr.startswith(f"turnkeeper: --tools {spec}: ")
    assert said.replace("{home}", str(home)) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_tools_of_one_name_are_refused(home: Path) -> None:
    for name in ("a", "b"):
        (home / f"{name}.py").write_text(
            "import turnkeeper as tk\n@tk.tool\ndef same() -> str:\n    'x'\n    return ''\n"
        )
    with pytest.raises(CommandError, match="two tools have this name"):
        load_tools(["a.py", "b.py"])


def test_a_tool_in_a_file_runs(run: Run, serve: Serve, tools: str) -> None:
    from turnkeeper.testing import call, reply

    done = run("ask", "--base-url", serve(reply(call("plain", {"x": 3})), "three"), "-T", f"{tools}:plain", "hello")
    assert (done.exit_code, done.stdout) == (0, "three\n")
    assert "· plain(x=3)" in done.stderr
