"""Arguments for any tool, read from what the user wrote.

Only what is in the message is filled in: enum members it names, numbers, quoted text, dates, addresses, time zones,
cities. With `forced` the rest of the required ones get the plainest value that fits the schema, since the caller
demanded a call.
"""

from __future__ import annotations

import functools
import re
import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.simulator.practice.mentions import Message
from turnkeeper.simulator.practice.phrasebook import Phrasebook
from turnkeeper.simulator.practice.sentiment import feeling
from turnkeeper.simulator.practice.words import folded, tokens

__all__ = ("Filled", "fill", "words_of_name")

DEPTH = 6
"""Levels of nesting that are filled; a recursive schema ends here."""

WHOLE_TEXT = (
    "query",
    "text",
    "message",
    "prompt",
    "question",
    "sentence",
    "content",
    "input",
    "search",
    "term",
    "topic",
)
FORMULA = ("expression", "formula", "calculation")
PLACE = ("city", "location", "place", "town", "destination", "origin", "country", "region")
AREAS = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
FORMATS = {
    "date": "1970-01-01",
    "date-time": "1970-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "unknown@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-0000-0000-000000000000",
}

QUOTED = re.compile(r"\"([^\"]{1,2000})\"|(?<!\w)'([^']{1,2000})'(?!\w)|`([^`]{1,2000})`")
ISO_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?(?!\d)")
NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?![\w])")
URL = re.compile(r"https?://[^\s\"'<>]{1,500}")
PLACE_NAMED = re.compile(
    r"\b(?:in|at|for|near|to|from|of|and|or)\s+((?:[^\W\d_a-z][\w'-]*)(?: [^\W\d_a-z][\w'-]*){0,3})"
)
EXPRESSION = re.compile(r"\(?-?\d[\d.,]*\s*(?:[-+*/×÷^%]\s*[(]*-?\d[\d.,]*[)]*\s*)+")


@dataclass(frozen=True, slots=True)
class Filled:
    """One tool's input; `found` counts the values that the message named; `others` are further whole inputs.

    There are further ones where the message names several values for one place ("in Berlin and Tokyo").
    """

    input: dict[str, Any]
    found: int = 0
    others: tuple[dict[str, Any], ...] = ()


def fill(
    book: Phrasebook, schema: Mapping[str, Any], message: Message, known: Mapping[str, Any], *, forced: bool = False
) -> Filled | None:
    """The input for a schema, or None if a required property can't be filled.

    `known` holds values by property name that are already established; they come first.
    """
    filling = _Filling(book, message, dict(known), forced, schema)
    value = filling.record(schema, DEPTH)
    if value is None:
        return None
    others = tuple({**value, name: other} for name, rest in filling.several.items() for other in rest)
    return Filled(value, filling.found, others)


def words_of_name(name: str) -> tuple[str, ...]:
    """The words in a name such as `get_current_datetime` or `getOrderStatus`."""
    return tokens(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_.-]", " ", name))


@functools.cache
def _zones() -> dict[str, str]:
    """Time zones by folded city name and by folded key."""
    found: dict[str, str] = {}
    for key in sorted(zoneinfo.available_timezones(), key=lambda key: (len(key), key)):
        area, _, city = key.partition("/")
        found.setdefault(folded(key), key)
        if area in AREAS and city and "/" not in city:
            found.setdefault(folded(city.replace("_", " ")), key)
    return found


@dataclass(slots=True)
class _Filling:
    """One filling: what the message holds is used up in order."""

    book: Phrasebook
    message: Message
    known: dict[str, Any]
    forced: bool
    root: Mapping[str, Any]
    found: int = 0
    several: dict[str, list[str]] = field(default_factory=dict)
    used: set[tuple[int, int]] = field(default_factory=set)

    def record(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any] | None:
        properties, required = schema.get("properties"), schema.get("required")
        properties = properties if isinstance(properties, dict) else {}
        names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        result: dict[str, Any] = {}
        for name, inner in properties.items():
            plain = self._resolved(inner, depth)
            has, value = self._value(str(name), plain, depth)
            if has:
                result[name] = value
            elif name in names:
                if not self.forced:
                    return None
                result[name] = self._default(str(name), plain, depth)
        if self.forced:
            result.update({name: "unknown" for name in names if name not in result})
        return result if self.forced or names <= result.keys() else None

    def _value(self, name: str, schema: Mapping[str, Any], depth: int) -> tuple[bool, Any]:
        if name in self.known and depth == DEPTH:
            return True, _as_type(self.known[name], _kind(schema))
        if "const" in schema:
            return True, schema["const"]
        value = self._evidence(name, schema, depth)
        if value is None:
            return False, None
        self.found += 1
        return True, value

    def _evidence(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        options, kind = schema.get("enum"), _kind(schema)
        felt = feeling(words_of_name(name), schema, self.message.text)
        if felt is not None:
            return felt
        if isinstance(options, list):
            return next(iter(self._members(options)), None)
        if kind == "string":
            return self._string(name, schema)
        if kind in ("integer", "number"):
            return self._number(name, kind)
        if kind == "boolean":
            spoken = set(words_of_name(name))
            return True if spoken and spoken <= set(tokens(self.message.text)) else None
        if kind == "array":
            return self._array(schema, depth)
        if kind == "object" and depth > 0:
            before = self.found
            inner = self.record(schema, depth - 1)
            return inner if inner and self.found > before else None
        return None

    def _string(self, name: str, schema: Mapping[str, Any]) -> str | None:
        bare, form = re.sub(r"[^a-z]", "", name.lower()), schema.get("format")
        text, about = self.message.text, str(schema.get("description", "")).lower()
        if "timezone" in bare or bare in ("tz", "zone") or "iana" in about:
            return self._first(name, self._time_zones())
        if any(place in bare for place in PLACE):
            return self._quote() or self._first(name, self._places())
        special: list[tuple[bool, Iterable[str]]] = [
            (form == "email" or "mail" in bare, self._contacts("email")),
            ("phone" in bare or "mobile" in bare, self._contacts("phone")),
            (form in ("date", "date-time") or "date" in bare, ISO_DATE.findall(text)),
            (form == "uri" or bare in ("url", "uri", "link"), URL.findall(text)),
            ("order" in bare and bool(self.message.orders), self.message.orders),
            (any(word in bare for word in FORMULA), (one.strip() for one in EXPRESSION.findall(text))),
        ]
        for applies, values in special:
            if applies:
                return next(iter(values), None)
        named = re.search(rf"(?<!\w){re.escape(name)}\s*[:=]\s*([^\s,;]+)", text, re.IGNORECASE)
        found = named[1] if named else self._quote()
        return found or (text or None if any(one in bare for one in WHOLE_TEXT) else None)

    def _contacts(self, kind: str) -> list[str]:
        return [contact.value for contact in self.message.contacts if contact.kind == kind]

    def _first(self, name: str, values: list[str]) -> str | None:
        """The first value; the rest make further inputs if the property may have several."""
        if name and len(values) > 1 and not self.several:
            self.several[name] = values[1:]
        return values[0] if values else None

    def _quote(self) -> str | None:
        for found in QUOTED.finditer(self.message.text):
            if found.span() not in self.used:
                self.used.add(found.span())
                return next(group for group in found.groups() if group)
        return None

    def _number(self, name: str, kind: str) -> int | float | None:
        label = r"\W+".join(map(re.escape, words_of_name(name))) or r"(?!)"
        named = [
            (found.start(1), found.end(1))
            for found in re.finditer(
                rf"(?<!\w){label}\W{{1,3}}(-?\d{{1,15}}(?:\.\d{{1,15}})?)(?!\w)", self.message.folded
            )
        ]
        for span in (*named, *(found.span() for found in NUMBER.finditer(self.message.folded))):
            value = float(self.message.folded[slice(*span)])
            if span not in self.used and (kind == "number" or value.is_integer()):
                self.used.add(span)
                return int(value) if value.is_integer() else value
        return None

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any] | None:
        items = self._resolved(schema.get("items"), depth)
        options = items.get("enum")
        if isinstance(options, list):
            return self._members(options) or None
        values: list[Any] = []
        if _kind(items) in ("integer", "number"):
            while (number := self._number("", _kind(items))) is not None:
                values.append(number)
        elif _kind(items) == "string":
            while (quote := self._quote()) is not None:
                values.append(quote)
        return values or None

    def _members(self, options: list[Any]) -> list[Any]:
        """Members of an enum that the message names, in its order; a sign between two numbers names one too."""
        low = self.message.folded
        places: list[tuple[int, Any]] = []
        for option in options:
            name = folded(str(option))
            apart = r"[\s_-]".join(map(re.escape, words_of_name(name))) or r"(?!)"
            found = re.search(rf"(?<!\w)(?:{re.escape(name)}|{apart})(?!\w)", low)
            glossary = self.book.glossary.get(name)
            found = found or (glossary.search(self.message.masked) if glossary else None)
            signs = [sign for sign, word in self.book.operators.items() if word == name]
            found = found or next(
                (hit for sign in signs if (hit := re.search(rf"\d\s*{re.escape(sign)}\s*\(?-?\d", low))), None
            )
            if found and name:
                places.append((found.start(), option))
        return [option for _, option in sorted(places, key=lambda place: place[0])]

    def _time_zones(self) -> list[str]:
        return list(dict.fromkeys(zone for _, zone, _ in sorted(self._cities())))

    def _places(self) -> list[str]:
        named = [(found.start(1), found[1]) for found in PLACE_NAMED.finditer(self.message.text)]
        cities = [(start, text) for start, _, text in self._cities() if "/" not in text]
        taken = [range(start, start + len(text)) for start, text in named]
        cities = [city for city in cities if not any(city[0] in span for span in taken)]
        return list(dict.fromkeys(text for _, text in sorted([*named, *cities])))

    def _cities(self) -> list[tuple[int, str, str]]:
        """Cities and zone keys in the message: where, the zone, and the words as written."""
        low, text, zones = self.message.folded, self.message.text, _zones()
        found: dict[int, tuple[int, str, str]] = {}
        for pattern, zone in self.book.places:
            for hit in pattern.finditer(low):
                found[hit.start()] = (hit.start(), zone, text[slice(*hit.span())])
        starts = [(hit.start(), hit.end()) for hit in re.finditer(r"[\w/+-]+", low)]
        for index, (start, _) in enumerate(starts):
            for _, end in reversed(starts[index : index + 3]):
                word = text[start:end].strip("-+/")
                zone_of = zones.get(folded(word))
                # Keys such as EST, MET and WET are words too, so they must stand as the key is written.
                if zone_of and "/" not in zone_of and word not in (zone_of, "utc", "gmt"):
                    zone_of = None
                if zone_of and not any(start in range(at, at + len(word)) for at, _, word in found.values()):
                    found[start] = (start, zone_of, text[start:end])
                    break
        return list(found.values())

    def _default(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        options, kind = schema.get("enum"), _kind(schema)
        if "default" in schema:
            return schema["default"]
        if isinstance(options, list) and options:
            return options[0]
        if kind == "string":
            form = schema.get("format")
            is_id = name.lower().endswith("id")
            return FORMATS.get(
                form if isinstance(form, str) else "", "unknown" if is_id else self.message.text or "unknown"
            )
        if kind in ("integer", "number"):
            least = schema.get("minimum", 0)
            return least if isinstance(least, (int, float)) and not isinstance(least, bool) else 0
        if kind == "object":
            return (self.record(schema, depth - 1) if depth > 0 else None) or {}
        if kind == "array":
            least, items = schema.get("minItems", 0), self._resolved(schema.get("items"), depth)
            count = min(least, 10) if isinstance(least, int) and depth > 0 else 0
            return [self._default(name, items, depth - 1) for _ in range(count)]
        return {"boolean": False, "null": None}.get(kind, self.message.text or "unknown")

    def _resolved(self, schema: object, depth: int) -> Mapping[str, Any]:
        """The schema itself behind `$ref`, and the first branch that isn't null of `anyOf` and its like."""
        for _ in range(max(depth, 1)):
            if not isinstance(schema, dict):
                return {}
            branches = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
            if isinstance(schema.get("$ref"), str):
                target: object = self.root
                for part in schema["$ref"].removeprefix("#/").split("/"):
                    target = target.get(part) if isinstance(target, dict) else None
                schema = target
            elif isinstance(branches, list) and branches:
                schema = next((one for one in branches if isinstance(one, dict) and one.get("type") != "null"), {})
            else:
                return schema
        return {}


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if isinstance(one, str) and one != "null"), None)
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _as_type(value: Any, kind: str) -> Any:
    """A known value as the schema's type; ids are text here, some schemas have them as integers."""
    if kind in ("integer", "number") and isinstance(value, str) and re.fullmatch(r"\d{1,15}", value):
        return int(value)
    return value
