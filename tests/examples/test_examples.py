"""Every example runs by itself, asserts what it shows, and holds it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = (
    *("agui_server", "approval", "durable", "identity", "lesson", "mcp_tools"),
    *("research", "sentiment", "server_search", "sms", "streaming", "web_search"),
)
"""The examples, by name: a file that is lost or came in without a line here makes the test fail."""


def test_these_are_the_examples() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.py"))) == EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_each_of_its_asserts_is_reached_and_holds(name: str, tmp_path: Path) -> None:
    """Run is a copy that says after each assert that it held."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
    asserts = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    copy = tmp_path / f"{name}.py"
    copy.write_text(ast.unparse(ast.fix_missing_locations(Telling().visit(tree))), "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(copy)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    held = {line for line in told if line.startswith("held: ")}
    assert asserts
    assert held == {f"held: {line}" for line in asserts}
    assert set(told) > held, "an example shows something"


class Telling(ast.NodeTransformer):
    """Has a program print the line of each assert that held."""

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        return [node, ast.parse(f"print('held: {node.lineno}')").body[0]]
