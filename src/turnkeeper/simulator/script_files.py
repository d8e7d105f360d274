"""Scripts from JSON files, for `turnkeeper simulate --model SCRIPT.json`.

A file holds a list of entries, or `{"replies": [entries], "then": "refuse" | "repeat" | "last"}`. An entry is a
text, a block, a reply in the API's format, `{"fault": {"kind": "rate_limited", "retry_after": 2}}`, or a reply with the
fault that spoils it: `{"fault": {"kind": "cut", "after": 3}, "reply": …}`. `fault` may be a list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.errors import InputError
from turnkeeper.simulator.faults import BUILDERS, Spoiled, StreamFault
from turnkeeper.simulator.scripts import Script

__all__ = ("read_script", "script_from_json")


def read_script(path: str | Path) -> Script:
    """Read a script file. Raises InputError that names the file and the place in it."""
    path = Path(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from error
    try:
        return script_from_json(value)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def script_from_json(value: Any) -> Script:
    """Make a script of parsed JSON. Raises InputError that names the place."""
    then: Any = "refuse"
    if isinstance(value, Mapping):
        unknown = set(value) - {"replies", "then"}
        if unknown:
            raise InputError(f"unknown field {sorted(unknown)[0]!r}; a script has 'replies' and 'then'")
        then = value.get("then", "refuse")
        value = value.get("replies")
    if not isinstance(value, list):
        raise InputError("expected a list of replies, or an object with 'replies'")
    return Script([_entry(entry, f"replies[{i}]") for i, entry in enumerate(value)], then=then)


def _entry(entry: Any, path: str) -> Any:
    if not isinstance(entry, Mapping) or "fault" not in entry:
        return entry
    unknown = set(entry) - {"fault", "reply"}
    if unknown:
        raise InputError(f"{path}: unknown field {sorted(unknown)[0]!r} beside 'fault'; the reply goes under 'reply'")
    described = entry["fault"] if isinstance(entry["fault"], list) else [entry["fault"]]
    made = [_fault(fault, f"{path}.fault") for fault in described]
    if "reply" not in entry:
        if len(made) != 1:
            raise InputError(f"{path}: several faults need the 'reply' that they spoil")
        return made[0]
    spoiling = [fault for fault in made if isinstance(fault, StreamFault)]
    if len(spoiling) != len(made):
        raise InputError(f"{path}.fault: answers without a reply; leave 'reply' out, or give it an entry of its own")
    return Spoiled(entry["reply"], tuple(spoiling))


def _fault(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise InputError(f"{path}: expected an object with a 'kind', found {value!r:.80}")
    build = BUILDERS.get(value["kind"])
    if build is None:
        raise InputError(f"{path}.kind: unknown fault {value['kind']!r}; one of {', '.join(BUILDERS)}")
    options = {key: option for key, option in value.items() if key != "kind"}
    try:
        return build(**options)
    except (TypeError, ValueError, InputError) as error:
        raise InputError(f"{path}: {str(error).replace('()', '', 1)}") from error
