"""Secrets out of text that goes to a log, a journal or a screen.

The patterns are broad on purpose: a log line that hides too much is a nuisance, one that shows a password is an
incident. Counts of tokens and the like are left alone all the same, for they are what a message is about. Text for the
model never relies on masking: it doesn't carry exception details in the first place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

__all__ = ("MASK", "SECRET_NAME", "mask", "mask_spelled", "mask_values", "spellings")

MASK = "***"
_SHORTEST = 6
"""Characters of a value that is hidden wherever it stands; shorter ones are part of too many words."""

_WORDS = (
    r"password|passwd|passwort|contraseña|senha|пароль|密码|密碼|令牌|パスワード|비밀번호|pwd|passphrase"
    r"|secret|секрет|token|токен|(?:api|access|account|private|shared|signing|encryption)[_-]?key"
    r"|shared[_-]?access[_-]?signature|credential"
)
SECRET_NAME = re.compile(rf"{_WORDS}|authorization|cookie", re.IGNORECASE)
"""Finds what is in the name of a member whose value is a secret."""
_NAME = rf"(?P<word>{_WORDS})(?P<tail>[\w-]{{0,40}})"
# A quoted value (bytes, quotes inside quotes), one that was cut off before its end, a list, or up to a separator.
_VALUE = (
    r"(?P<value>[bBuUrR]{0,2}(?P<quote>\\{0,4}['\"])(?:(?!(?P=quote))(?:\\[\s\S]|[\s\S])){0,2000}(?P=quote)"
    r"|[bBuUrR]{0,2}\\{0,4}['\"][^\r\n]{0,2000}"
    r"|\[[^\]\r\n]{0,1000}\]"
    r"|[^\s,;&)}\]'\"<\\]+(?:(?<!:)[,;][^\s=:,;&)}\]'\"]+(?=\s|\Z))?)"
)
_PAIR = re.compile(rf"(?P<name>{_NAME}\\{{0,4}}['\"]?\s{{0,10}}(?::=|=>|[=:：])\s{{0,10}}){_VALUE}", re.IGNORECASE)
_FLAG = re.compile(rf"(?P<name>--[\w-]{{0,40}}?{_NAME}[ \t]{{1,10}})(?!-){_VALUE}", re.IGNORECASE)
_LISTED = re.compile(
    rf"(?P<name>b?['\"][\w-]{{0,40}}?(?:{SECRET_NAME.pattern})[\w-]{{0,40}}['\"]\s{{0,5}},\s{{0,5}})"
    r"b?(?P<quote>['\"])(?:(?!(?P=quote))(?:\\[\s\S]|[\s\S])){0,2000}(?P=quote)",
    re.IGNORECASE,
)

# Every repetition that can fail after a long run is bounded: the text may be an attacker's, and long.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # The password of a URL: everything between the first colon of the authority and the last @ before a blank.
    (re.compile(r"([a-zA-Z][\w+.-]{0,30}://[^\s:/@'\"]{0,100}):[^\s'\"]{0,300}@"), rf"\1:{MASK}@"),
    # Before the host of a web address stands a token, with a password or without.
    (re.compile(r"\b((?:https?|wss?)://)[^\s/?#'\"@]{1,300}@", re.IGNORECASE), rf"\1{MASK}@"),
    (
        re.compile(
            r"([?&;](?:key|sig|signature|auth|code|session|session_?id|sid|otp|jwt|pass|pw|x-(?:amz|goog)-[a-z-]{1,30})=)"
            r"[^&#\s'\"<>]+",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.DOTALL),
        MASK,
    ),
    (re.compile(r"\b(sk|pk|rk)-[A-Za-z0-9_-]{8,}"), rf"\1-{MASK}"),
    (re.compile(r"\b(sk|pk|rk)_(live|test)_[A-Za-z0-9]{8,}"), rf"\1_\2_{MASK}"),
    (
        re.compile(
            r"\b(gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|hf_|npm_|pypi-|whsec_|SG\.)"
            r"[A-Za-z0-9._-]{8,}"
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*"), MASK),
    # What a header says: its whole line, or up to the quote that it stands in.
    (
        re.compile(
            r"\b((?:proxy-)?authorization:[ \t]{0,10}(?!(?:\S{1,25}[ \t]{1,5})?\*\*\*)"
            r"(?:[A-Za-z][\w-]{1,20}[ \t]{1,5})?)[^\s'\"][^\r\n'\"]*",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"\b((?:set-)?cookie:\s{0,10})[^\s'\"][^\r\n'\"]*", re.IGNORECASE), rf"\1{MASK}"),
    # In a sentence a word may follow; what has a digit, a sign or both cases, or is long, is no word.
    (
        re.compile(
            r"\b(?P<name>(?i:Bearer|Basic)\s{1,10})"
            r"(?![A-Za-z]?[a-z-]{0,24}(?![A-Za-z0-9._~+/=-]))[A-Za-z0-9._~+/=-]{6,}"
        ),
        rf"\g<name>{MASK}",
    ),
    (_LISTED, rf"\g<name>{MASK}"),
    (
        re.compile(
            r"(?P<name>authorization\\{0,4}['\"]?\s{0,10}[=:]\s{0,10})(?P<quote>\\{0,4}['\"])"
            r"(?:(?!(?P=quote))(?:\\[\s\S]|[\s\S])){0,2000}(?P=quote)",
            re.IGNORECASE,
        ),
        rf"\g<name>{MASK}",
    ),
    (
        re.compile(
            rf"(?P<name><(?P<tag>[\w:-]{{0,40}}?(?:{_WORDS})[\w-]{{0,40}})>)[^<]{{1,1000}}(?=</)", re.IGNORECASE
        ),
        rf"\g<name>{MASK}",
    ),
)

_NO_SECRET_TAIL = re.compile(
    r"(?:[\w-]{0,30}[_-])?(?:counts?|limits?|type|budgets?|usage|used|price|ur[li]|endpoint|length|size|policy|expir\w*|ttl)"
    r"\Z|s?[_-]per_\w+\Z|i[sz]\w*\Z|ar(?:y|ies)\Z|less\Z",
    re.IGNORECASE,
)
"""What follows a secret's word in a name of something else: token_count, tokenizer, secretary, passwordless."""
_SAID = frozenset(
    {
        *(
            "true",
            "false",
            "null",
            "none",
            "must",
            "should",
            "required",
            "missing",
            "not",
            "is",
            "are",
            "was",
            "a",
            "an",
        ),
        *(
            "the",
            "expected",
            "invalid",
            "unknown",
            "field",
            "input",
            "extra",
            "string",
            "ok",
            "set",
            "unset",
            "no",
            "yes",
        ),
    }
)
"""Words that a message about a field begins with; bare, they are no value of it."""
_COUNTED = re.compile(r"(?:max|min|most|num|new|per|budget|input|output)[_-]?\Z", re.IGNORECASE)


def mask(text: str) -> str:
    """`text` without API keys, passwords and tokens in URLs, bearer tokens, JWTs, private keys, `password=…` pairs."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _mask_pairs(_FLAG, _mask_pairs(_PAIR, text))


def mask_values(text: str, values: Iterable[str]) -> str:
    """`text` without these very values, as they are or as URLs, JSON and Python spell them, and masked."""
    return mask_spelled(text, spellings(values))


def spellings(values: Iterable[str]) -> tuple[str, ...]:
    """How URLs, JSON and Python spell these values, the longest first; for `mask_spelled`, where they stay the same."""
    spelled: set[str] = set()
    for value in values:
        for one in (value, value.strip()):
            if len(one) >= _SHORTEST:
                spelled |= {one, quote(one, safe=""), quote_plus(one), json.dumps(one)[1:-1], repr(one)[1:-1]}
                spelled.add(json.dumps(one, ensure_ascii=False)[1:-1])
    return tuple(sorted(spelled, key=len, reverse=True))


def mask_spelled(text: str, spelled: Iterable[str]) -> str:
    """`text` without these spellings of values, and masked."""
    for one in spelled:
        text = text.replace(one, MASK)
    return mask(text)


def _mask_pairs(pattern: re.Pattern[str], text: str) -> str:
    done: list[str] = []
    at = 0
    while (match := pattern.search(text, at)) is not None:
        end = match.end("name")
        done.append(text[at:end])
        at = end
        if not _is_harmless(match):
            done.append(MASK)
            at = match.end()
    return "".join([*done, text[at:]])


def _is_harmless(match: re.Match[str]) -> bool:
    """Whether a name and its value tell of something else than a secret, such as how many tokens there were."""
    value, tail = match["value"], match["tail"]
    if value.startswith(MASK) or value.lower() in _SAID or _NO_SECRET_TAIL.match(tail):
        return True
    if match["word"].lower() != "token":
        return False
    before = match.string[max(match.start("word") - 12, 0) : match.start("word")]
    if before.lower().endswith("unexpected "):
        return True
    plural = tail[:1] in ("s", "S") and not tail[1:2].islower()
    if value.startswith("[") and re.search(r"['\"]", value):
        return False
    looks_secret = len(value) >= 16 and any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return not looks_secret and (plural or _COUNTED.search(before) is not None)
