"""Secrets out of text that goes to a log.

The patterns are broad on purpose: a log line that hides too much is a nuisance, one that shows a password is an
incident. Text for the model never relies on masking: it doesn't carry exception details in the first place.
"""

from __future__ import annotations

import re

__all__ = ("MASK", "mask")

MASK = "***"

# Every repetition that can fail after a long run is bounded: the text may be an attacker's, and long.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # The password of a URL: everything between the first colon of the authority and the last @ before a blank.
    (re.compile(r"([a-zA-Z][\w+.-]{0,30}://[^\s:/@'\"]{0,100}):[^\s'\"]{0,300}@"), rf"\1:{MASK}@"),
    (
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.DOTALL),
        MASK,
    ),
    (re.compile(r"\b(sk|pk|rk)-[A-Za-z0-9_-]{8,}"), rf"\1-{MASK}"),
    (re.compile(r"\b(sk|pk|rk)_(live|test)_[A-Za-z0-9]{8,}"), rf"\1_\2_{MASK}"),
    (re.compile(r"\b(gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AKIA|ASIA|AIza)[A-Za-z0-9_-]{8,}"), rf"\1{MASK}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\b(Bearer|Basic)\s{1,10}[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    # name = value, name: value, "name": "value", with the value quoted or up to the next blank or separator
    (
        re.compile(
            r"(?P<name>(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|authorization|credential)"
            r"[\w-]{0,40}['\"]?\s{0,10}[=:]\s{0,10})"
            rf"(?!(?:Bearer|Basic)?\s?{re.escape(MASK)})"
            r"(?P<value>'[^']{0,1000}'|\"[^\"]{0,1000}\"|[^\s,;&)}\]'\"]+)",
            re.IGNORECASE,
        ),
        rf"\g<name>{MASK}",
    ),
)


def mask(text: str) -> str:
    """`text` with passwords in URLs, API keys, bearer tokens, JWTs, private keys and `password=…` pairs hidden."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
