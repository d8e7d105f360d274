"""`--schema FILE|MODULE:TYPE`: a JSON Schema out of a file, or a type out of a module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from turnkeeper.cli.exits import Exit
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.toolbox import module_of, split_spec
from turnkeeper.errors import InputError
from turnkeeper.tools.target import Target

__all__ = ("load_target",)


def load_target(spec: str) -> tuple[Any, Target]:
    """What `spec` names, and the target that it makes. CommandError says what isn't there or can't be one."""
    place, name = split_spec(spec)
    if not name:
        kind: Any = _schema_in(Path(place).expanduser(), spec)
    else:
        kind = module_of(place, spec, option="--schema")
        for part in name.split("."):
            if not hasattr(kind, part):
                raise CommandError(f"--schema {spec}: there is no {name!r} in {place}", exit_code=Exit.USAGE)
            kind = getattr(kind, part)
    try:
        return kind, Target.for_schema(kind) if isinstance(kind, dict) else Target.for_type(kind)
    except InputError as error:
        raise CommandError(f"--schema {spec}: {error}", exit_code=Exit.USAGE) from error


def _schema_in(path: Path, spec: str) -> dict[str, Any]:
    if path.suffix == ".py":
        raise CommandError(f"--schema {spec}: say which type of the file, such as {spec}:NAME", exit_code=Exit.USAGE)
    if not path.is_file():
        raise CommandError(
            f"--schema {spec}: there is no such file; a type is written MODULE:TYPE or FILE.py:TYPE",
            exit_code=Exit.USAGE,
        )
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, OSError, RecursionError) as error:
        raise CommandError(f"--schema {spec}: it is no JSON: {error}", exit_code=Exit.USAGE) from error
    if not isinstance(found, dict):
        raise CommandError(f"--schema {spec}: a JSON Schema is an object", exit_code=Exit.USAGE)
    return found
