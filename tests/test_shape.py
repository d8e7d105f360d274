"""The shape of the code, held by tests: module length, public names, import direction, a pure core, a light import.

A limit here is never raised to fit the code; a new part of the package gets its place in `ORDER`.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnkeeper

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "turnkeeper"
LIMIT = 400
"""A module has fewer lines than this."""

FACE = "turnkeeper"
"""Stands for the package's own `__init__`, the public face."""

ORDER: tuple[frozenset[str], ...] = (
    frozenset({"errors", "types", "updates", "tagged", "redaction", "hidden", "serving"}),
    frozenset({"wire"}),
    frozenset({"core"}),
    frozenset({"tools"}),
    frozenset({"models"}),
    frozenset({"client"}),
    frozenset({"journal"}),
    frozenset({"telemetry"}),
    frozenset({"driver"}),
    frozenset({"workers"}),
    frozenset({"simulator"}),
    frozenset({"testing"}),
    frozenset({"mcp"}),
    frozenset({FACE}),
    frozenset({"cli", "web"}),
    frozenset({"desk", "research", "sms"}),
)
"""The parts, in the order of a conversation: a part imports from its own row and the rows above."""

ONLY: dict[str, frozenset[str]] = {
    # Tools are plain functions with a schema; they know nothing of the loop that runs them.
    "tools": frozenset({"errors", "types", "redaction"}),
    # An independent judge: it shares the shapes of the wire, never the rules of the core.
    "simulator": frozenset({"errors", "types", "wire", "models", "serving"}),
    # An application like any user's: the face, and the submodules that the face names as public.
    "desk": frozenset({FACE, "errors", "updates", "tagged", "redaction"}),
    "research": frozenset({FACE, "errors", "updates", "tagged"}),
    "sms": frozenset({FACE, "errors", "updates"}),
}
"""Parts that may import less than their place allows."""

ALSO: dict[str, frozenset[str]] = {
    # `turnkeeper desk` is a command; the applications themselves import no door, so there is no circle.
    "cli": frozenset({"desk", "research", "sms"}),
    "web": frozenset({"desk"}),
}
"""Parts that may import more than their place allows."""

PURE = ("errors", "types", "updates", "tagged", "redaction", "hidden", "wire", "core")
PURE_IMPORTS = frozenset(
    {
        *("__future__", "abc", "base64", "bisect", "codecs", "collections", "copy", "dataclasses", "decimal"),
        *("enum", "fractions", "functools", "hashlib", "itertools", "json", "keyword", "math", "numbers"),
        *("operator", "re", "string", "textwrap", "types", "typing", "unicodedata"),
    }
)
"""What the pure parts may import from outside the package: nothing that reads, writes, waits, counts time or draws."""
IMPURE_NAMES = frozenset({"open", "print", "input", "eval", "exec", "__import__", "breakpoint", "id", "hash"})

DRAWERS = frozenset({"utils", "util", "base", "manager", "managers", "helpers", "helper", "common", "misc"})
"""Names that say nothing of what is inside."""

HEAVY = frozenset(
    {
        *("ag_ui", "alembic", "anthropic", "click", "cryptography", "dbos", "httpx2", "jsonschema_rs", "jwt"),
        *("markdown_it", "mcp", "nh3", "opentelemetry", "prompt_toolkit", "psycopg", "pydantic", "rich", "sqlalchemy"),
        *("sse_starlette", "starlette", "uvicorn"),
    }
)
"""Loaded when used, never when the package is imported."""


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def dotted(path: Path) -> str:
    """The module's import name: src/turnkeeper/core/tables.py is turnkeeper.core.tables."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """The part that an import name belongs to; the package itself is the face."""
    return module.split(".")[1] if "." in module else FACE


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import in a module, wherever it stands, as (line, absolute dotted name)."""
    package = dotted(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            # `from turnkeeper import core` names a part; the parts of other packages don't matter here.
            for alias in node.names:
                is_part = module == FACE and (SOURCE / alias.name).with_suffix(".py").is_file()
                is_part = is_part or (module == FACE and (SOURCE / alias.name).is_dir())
                yield node.lineno, f"{module}.{alias.name}" if is_part else module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if called in {"import_module", "__import__"}:
                yield node.lineno, str(node.args[0].value)


def allowed(part: str) -> frozenset[str]:
    """The parts that `part` may import from."""
    at = next(row for row, group in enumerate(ORDER) if part in group)
    down = frozenset().union(*ORDER[: at + 1])
    return (ONLY.get(part, down) | ALSO.get(part, frozenset()) | {part}) - ({FACE} if part in PURE else frozenset())


def listed(tree: ast.Module) -> ast.expr | None:
    """The value of the module's `__all__`, as written."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return value
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=value):
                return value
    return None


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


SOURCES = modules("src")
EVERYTHING = modules("src", "tests", "examples", "benchmarks", "script", "docs")


def test_a_module_stays_short() -> None:
    files = [*EVERYTHING, *sorted((SOURCE / "web" / "assets").glob("*.js"))]
    long = {name(path): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path: lines for path, lines in long.items() if lines >= LIMIT} == {}, "split these by topic"


def test_a_module_begins_with_what_it_is() -> None:
    assert [name(path) for path in EVERYTHING if path.stat().st_size and not ast.get_docstring(parse(path))] == []


def test_names_say_what_is_inside() -> None:
    drawers = [
        name(path)
        for path in EVERYTHING
        if DRAWERS & {part.strip("_") for part in path.relative_to(ROOT).with_suffix("").parts}
    ]
    assert drawers == []


def test_a_module_lists_its_public_names_in_a_tuple() -> None:
    wrong = {name(path): fault for path in SOURCES if (fault := listing_fault(path))}
    assert wrong == {}


def listing_fault(path: Path) -> str:
    """What is wrong with the module's `__all__`."""
    tree = parse(path)
    # A docstring alone lists nothing; migrations are scripts with names that their tool looks for.
    if path.name == "__main__.py" or "migrations" in path.parts or len(tree.body) <= 1:
        return ""
    value = listed(tree)
    if not isinstance(value, ast.Tuple):
        return "__all__ is not a tuple, written out"
    public = [element.value for element in value.elts if isinstance(element, ast.Constant)]
    if not len(public) == len(value.elts) == len(set(public)):
        return "__all__ is not a list of different names"
    module = importlib.import_module(dotted(path))
    missing = [str(one) for one in public if not hasattr(module, str(one))]
    return f"nothing is there under {', '.join(missing)}" if missing else ""


def test_every_part_has_its_place_in_the_order() -> None:
    parts = {part_of(dotted(path)) for path in SOURCES}
    assert parts - frozenset().union(*ORDER) == set()


def test_imports_point_down_only() -> None:
    wrong = []
    for path in SOURCES:
        part = part_of(dotted(path))
        # The face gathers every part; a part without a place fails in its own test.
        if part == FACE or part not in frozenset().union(*ORDER):
            continue
        for line, imported in imports(path):
            if imported.split(".")[0] == FACE and part_of(imported) not in allowed(part):
                wrong.append(f"{name(path)}:{line}: {part} imports {imported}")
    assert wrong == []


def test_the_core_is_pure() -> None:
    wrong = []
    for path in SOURCES:
        if part_of(dotted(path)) not in PURE:
            continue
        for line, imported in imports(path):
            if imported.split(".")[0] not in PURE_IMPORTS | {FACE}:
                wrong.append(f"{name(path)}:{line}: imports {imported}")
        wrong += [
            f"{name(path)}:{node.lineno}: uses {node.id}"
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES
        ]
    assert wrong == []


def test_the_public_face_resolves_every_name_it_lists() -> None:
    public = getattr(turnkeeper, "__all__", ())
    assert [name for name in public if not hasattr(turnkeeper, name)] == []
    assert [name for name in public if name not in dir(turnkeeper)] == []


@pytest.mark.parametrize(
    "module",
    [
        "turnkeeper",
        "turnkeeper.testing.plugin",  # every pytest run of every user pays for what this loads
    ],
)
def test_an_import_loads_nothing_heavy(module: str) -> None:
    report = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not HEAVY & loaded
