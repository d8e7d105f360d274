"""The phrasebook as values: languages, patterns, templates, and how tools' results are read.

The data is `phrasebook.toml` beside this module; `Phrasebook.read` lays further files over it, so that a phrase or a
whole language can be added without code. What a language doesn't say is said in the default language.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from turnkeeper.errors import ConfigurationError
from turnkeeper.simulator.practice.words import folded, normal, union

__all__ = ("Language", "Phrasebook", "built_in")

Patterns = Mapping[str, re.Pattern[str]]

LONGEST_REASON = 400
"""Characters of a tool's text that a reply quotes as a reason."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language: what it is recognised by, its patterns, and its templates (completed from the default)."""

    code: str
    name: str
    script: str
    words: frozenset[str]
    hints: frozenset[str]
    intents: Patterns
    labels: Patterns
    references: Patterns
    statuses: Mapping[str, str]
    causes: Mapping[str, str]
    templates: Mapping[str, str]

    def say(self, template: str, **values: object) -> str:
        """The filled-in template."""
        return self.templates[template].format(**values)

    def status(self, written: str) -> str:
        """A status in this language, the tool's own word kept beside it."""
        known = self.statuses.get(folded(normal(written)))
        return self.say("sourced_status", status=known, source=written) if known else written


@dataclass(frozen=True, slots=True)
class Phrasebook:
    """Everything the practice model knows about words; it knows nothing about anybody's data."""

    default: str
    languages: Mapping[str, Language]
    roles: Mapping[str, tuple[str, ...]]
    fields: Mapping[str, tuple[str, ...]]
    outcomes: Patterns
    causes: Patterns
    glossary: Patterns
    operators: Mapping[str, str]
    places: tuple[tuple[re.Pattern[str], str], ...]
    messengers: frozenset[str]
    encyclopedias: frozenset[str]
    articles: Patterns

    @classmethod
    def read(cls, *files: str | Path) -> Phrasebook:
        """The built-in phrasebook with `files` (TOML of the same shape, UTF-8) laid over it in order.

        Lists grow, word lists grow, other values are replaced. Raises `ConfigurationError` for a file that can't be
        read, isn't TOML, or holds a table of another shape.
        """
        data = _parse(resources.files(__package__).joinpath("phrasebook.toml").read_bytes(), "phrasebook.toml")
        for file in files:
            try:
                content = Path(file).read_bytes()
            except OSError as error:
                raise ConfigurationError(f"phrasebook {file}: {error.strerror or error}") from error
            data = _laid_over(data, _parse(content, str(file)))
        try:
            return _phrasebook(data)
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise ConfigurationError(f"phrasebook: a table has the wrong shape ({error!r})") from error

    def language(self, code: str) -> Language:
        """The language of that code."""
        return self.languages[code]

    def role(self, tool: str) -> str | None:
        """What the tool of that name does at the desk; a prefix such as a server's name doesn't hide it."""
        bare = _bare(tool)
        return next((role for role, names in self.roles.items() if bare in names), None)

    def is_messenger(self, tool: str) -> bool:
        """Whether that tool carries what is said to the user."""
        return _bare(tool) in self.messengers

    def is_encyclopedia(self, tool: str) -> bool:
        """Whether that tool gives articles."""
        return _bare(tool) in self.encyclopedias

    def reason(self, language: Language, text: str) -> str:
        """A tool's own words as a reason in the user's language; the words themselves are kept beside it."""
        source = " ".join(text.split())[:LONGEST_REASON]
        if not source:
            return language.say("no_reason")
        written = folded(normal(source))
        for cause, found in self.causes.items():
            if cause in language.causes and found.search(written):
                return language.say("sourced_cause", cause=language.causes[cause], source=source)
        return source


def _bare(tool: str) -> str:
    return tool.rsplit("__", 1)[-1]


@functools.cache
def built_in() -> Phrasebook:
    """The phrasebook that ships with the package, read once."""
    return Phrasebook.read()


def _parse(content: bytes, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"phrasebook {name}: not TOML in UTF-8 ({error})") from error


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _laid_over(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            merged[key] = [*old, *value]
        elif key in {"words", "hints"} and isinstance(old, str) and isinstance(value, str):
            merged[key] = f"{old} {value}"
        else:
            merged[key] = value
    return merged


def _phrasebook(data: dict[str, Any]) -> Phrasebook:
    default = data["default"]
    say = data["languages"][default]["say"]
    return Phrasebook(
        default=default,
        languages={code: _language(code, table, say) for code, table in data["languages"].items()},
        roles={role: tuple(names) for role, names in data["roles"].items()},
        fields={name: tuple(keys) for name, keys in data["fields"].items()},
        outcomes=_patterns(data["outcomes"]),
        causes=_patterns(data["causes"]),
        glossary=_patterns(data["glossary"]),
        operators=dict(data["operators"]),
        places=tuple((union([written]), zone) for written, zone in data["places"].items()),
        messengers=frozenset(data["messengers"]["names"]),
        encyclopedias=frozenset(data["articles"]["names"]),
        articles=_patterns({"asks": data["articles"]["asks"]}),
    )


def _language(code: str, table: dict[str, Any], default_say: dict[str, str]) -> Language:
    return Language(
        code=code,
        name=table["name"],
        script=table["script"],
        words=frozenset(folded(normal(table.get("words", ""))).split()),
        hints=frozenset(folded(normal(table.get("hints", ""))).split()),
        intents=_patterns(table.get("intents", {})),
        labels=_patterns(table.get("labels", {})),
        references=_patterns(table.get("references", {})),
        statuses={folded(normal(raw)): text for raw, text in table.get("statuses", {}).items()},
        causes=dict(table.get("causes", {})),
        templates={**default_say, **table.get("say", {})},
    )


def _patterns(table: Mapping[str, list[str]]) -> dict[str, re.Pattern[str]]:
    return {name: union(written) for name, written in table.items()}
