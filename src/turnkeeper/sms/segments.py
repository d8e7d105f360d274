"""How long a text is as an SMS: its encoding, its units, and the segments it is sent in.

GSM-7 holds 160 septets alone and 153 in each segment of several; UCS-2 holds 70 and 67 code units. Characters of the
extension table take two septets and are never parted, nor are the halves of a surrogate pair. Sources: 3GPP TS 23.038,
section 6.2.1; https://www.twilio.com/docs/glossary/what-sms-character-limit; errors 21617 and 30019 of Twilio's list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("LONGEST", "Segmented", "segmented")

LONGEST = 1_600
"""Characters that Twilio takes in one message (error 21617 beyond)."""

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION = frozenset("\f^{}\\[~]|€")


@dataclass(frozen=True, slots=True)
class Segmented:
    """A text as it goes out. `units` are septets of GSM-7 or code units of UCS-2."""

    encoding: Literal["GSM-7", "UCS-2"]
    units: int
    segments: tuple[str, ...]


def segmented(text: str) -> Segmented:
    """Cut a text into its segments; an empty one has none."""
    gsm = all(char in _BASIC or char in _EXTENSION for char in text)
    encoding: Literal["GSM-7", "UCS-2"] = "GSM-7" if gsm else "UCS-2"
    sizes = [_units(char, gsm=gsm) for char in text]
    alone, each = (160, 153) if gsm else (70, 67)
    if sum(sizes) <= alone:
        return Segmented(encoding, sum(sizes), (text,) if text else ())
    segments, start, filled = [], 0, 0
    for at, size in enumerate(sizes):
        if filled + size > each:
            segments.append(text[start:at])
            start, filled = at, 0
        filled += size
    return Segmented(encoding, sum(sizes), (*segments, text[start:]))


def _units(char: str, *, gsm: bool) -> int:
    if gsm:
        return 2 if char in _EXTENSION else 1
    return 2 if ord(char) > 0xFFFF else 1
