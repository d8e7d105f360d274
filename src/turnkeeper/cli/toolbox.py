"""`--tools MODULE[:NAME]`: tools out of a module or a .py file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from turnkeeper.cli.exits import Exit
from turnkeeper.cli.problems import CommandError
from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools import Registry, Tool

__all__ = ("load_tools", "module_of", "split_spec")

_OURS = str(Path(__file__).resolve().parents[1]) + os.sep


def load_tools(names: Iterable[str]) -> list[Any]:
    """What each `MODULE[:NAME]` names, in order, each tool once. CommandError says what isn't there."""
    found: list[Any] = []
    for name in names:
        for one in _load(name):
            if not any(one is other for other in found):
                found.append(one)
    try:
        Registry(found)
    except ToolDefinitionError as error:
        raise CommandError(f"--tools: {error}") from error
    return found


def _load(spec: str) -> Sequence[Any]:
    place, name = split_spec(spec)
    module = module_of(place, spec)
    if name:
        return _named(module, name, spec)
    tools = _all_tools(module)
    if not tools:
        raise CommandError(
            f"--tools {spec}: no function in it is marked with @tool; mark one, or name a function: {place}:NAME",
            exit_code=Exit.USAGE,
        )
    return tools


def split_spec(spec: str) -> tuple[str, str]:
    """The module or file, and the name. A Windows drive's colon is no separator."""
    place, colon, name = spec.rpartition(":")
    if not colon or "/" in name or "\\" in name or (len(place) == 1 and name.startswith(("\\", "/"))):
        return spec, ""
    return place, name


def module_of(place: str, spec: str, *, option: str = "--tools") -> ModuleType:
    """The module of that name, or in that .py file; `spec` is what the option was given. CommandError."""
    path = Path(place).expanduser()
    is_file = place.endswith(".py") or (("/" in place or "\\" in place) and path.exists())
    if is_file and not path.is_file():
        raise CommandError(f"{option} {spec}: there is no file {place}", exit_code=Exit.USAGE)
    if not is_file and not _may_be_a_module(place):
        said = f"{option} {spec}: {place!r} is neither a module's name nor a .py file"
        raise CommandError(said, exit_code=Exit.USAGE)
    try:
        return _from_file(path.resolve()) if is_file else _from_name(place)
    except ModuleNotFoundError as error:
        if not is_file and error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise CommandError(
                f"{option} {spec}: there is no module {error.name!r}; for a file write its path, such as"
                f" ./{place.replace('.', '/')}.py",
                exit_code=Exit.USAGE,
            ) from error
        raise _broken(spec, error, option) from error
    except (Exception, SystemExit) as error:
        raise _broken(spec, error, option) from error


def _broken(spec: str, error: BaseException, option: str) -> CommandError:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return CommandError(f"{option} {spec}: loading it failed with {type(error).__name__}: {said}{_place(error)}")


def _place(error: BaseException) -> str:
    """The line that is to be mended: where the syntax is wrong, else the last one that isn't of a library."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    place = ""
    frame = error.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if not name.startswith((_OURS, "<")) and f"{os.sep}site-packages{os.sep}" not in name:
            place = f" ({name}:{frame.tb_lineno})"
        frame = frame.tb_next
    return place


def _may_be_a_module(place: str) -> bool:
    return bool(place) and all(part.isidentifier() for part in place.split("."))


def _from_name(place: str) -> ModuleType:
    # as `python -m` does: modules of the folder that one stands in come first
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(place)


def _from_file(path: Path) -> ModuleType:
    # modules beside the file can be imported, as in a script that is run
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = f"turnkeeper_tools_{path.stem}" if path.stem in sys.modules or not path.stem.isidentifier() else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations are resolved through it
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, name: str, spec: str) -> Sequence[Any]:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = [one.name for one in _all_tools(module)]
            offered = f"; its tools are {', '.join(known)}" if known else ""
            raise CommandError(
                f"--tools {spec}: {module.__name__} has nothing named {name!r}{offered}", exit_code=Exit.USAGE
            )
        value = getattr(value, part)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Registry):
        return list(value.tools)
    if isinstance(value, Tool) or callable(value):
        return [value]
    raise CommandError(
        f"--tools {spec}: {name} is neither a tool, a function nor a list of them, but {type(value).__name__}",
        exit_code=Exit.USAGE,
    )


def _all_tools(module: ModuleType) -> list[Tool]:
    """The module's tools in the order they stand there; one under two names counts once."""
    found: list[Tool] = []
    for value in vars(module).values():
        if isinstance(value, Tool) and not any(value is other for other in found):
            found.append(value)
    return found
