"""Personal data out of text that leaves: card numbers, e-mail addresses, phone numbers. Pure.

For logs, exports and the like. It finds what is written as people and programs usually write it; a name or an address
it does not know. Card numbers are 13 to 19 digits that pass the check of ISO/IEC 7812-1 (Luhn).
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ("CARD", "EMAIL", "PHONE", "redacted", "redacted_value")

CARD = "[card]"
EMAIL = "[e-mail]"
PHONE = "[phone]"

_CARD = re.compile(r"(?<![\w.+])\d(?:[ \u00a0-]?\d){12,18}(?![\w])")
_EMAIL = re.compile(r"(?<![^\s<>()\[\]\"'`,;:=/|])[^\s<>()\[\]\"`,;:=/|@\\]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_PHONE = re.compile(
    r"(?<![\w.+])(?:\+\d(?:[ \u00a0().-]{0,2}\d){6,14}|\(?\d{3}\)?[ \u00a0.-]\d{3}[ \u00a0.-]\d{4})(?![\w-])"
)


def redacted(text: str) -> str:
    """The text with `[card]`, `[e-mail]` and `[phone]` in place of what it held of them."""
    text = _CARD.sub(lambda found: CARD if _passes(found[0]) else found[0], text)
    text = _EMAIL.sub(lambda found: found[0] if found[0].startswith("***@") else EMAIL, text)  # a URL, masked before
    return _PHONE.sub(PHONE, text)


def redacted_value(value: Any) -> Any:
    """A JSON value with every string in it redacted; the names of members stay."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list | tuple):
        return [redacted_value(one) for one in value]
    if isinstance(value, dict):
        return {name: redacted_value(one) for name, one in value.items()}
    return value


def _passes(written: str) -> bool:
    digits = [int(one) for one in written if one.isdecimal()]
    doubled = [one if place % 2 == 0 else 2 * one - 9 * (one > 4) for place, one in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1
