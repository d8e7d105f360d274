"""E-mail addresses, phone numbers and usernames: how they compare, and what a new one must look like.

Two spellings are the same contact when their keys are equal. A key is made once here and stored beside the spelling, so
that both databases compare alike (SQLite folds ASCII only, PostgreSQL by its locale). Folding follows the Unicode
Standard, section 3.13 (compatibility caseless matching): NFKC, case folding, NFKC, without invisible characters.
"""

from __future__ import annotations

import unicodedata

from turnkeeper.desk.domain import ContactKind

__all__ = ("checked_email", "checked_phone", "contact_key", "hint", "identifier", "kind_of", "masked")

_LONGEST = 254  # RFC 5321, section 4.5.3.1: an address in a path of 256 octets, less its brackets
_PHONE_MARKS = frozenset(" -.()/")
_EMAIL_FORBIDDEN = frozenset('"(),:;<>[\\]@')


def contact_key(kind: ContactKind, value: str) -> str | None:
    """The text by which a contact is compared, or None when no contact could ever be written so."""
    if kind == "phone":
        return _digits(value) or None
    return _folded(value)


def hint(kind: ContactKind, value: str) -> str:
    """As much of a contact on file as reminds its owner of it, in no language: `m…@gmail.com`, `…90`."""
    return masked(kind, value).partition(" (")[0]


def kind_of(value: str) -> ContactKind:
    """What somebody wrote who was asked for an e-mail address, a phone number or a username."""
    if "@" in value:
        return "email"
    return "phone" if value.strip(" +-./()").replace(" ", "").isdecimal() else "username"


def identifier(value: str) -> str | None:
    """The id that somebody wrote (` #24601 ` is 24601), or None when no id could be written so."""
    if _unprintable(value):
        return None
    return _visible(unicodedata.normalize("NFKC", value)).removeprefix("#").strip() or None


def checked_email(value: str) -> str:
    """A new e-mail address, trimmed. Raises ValueError with a sentence that says what is wrong.

    Checks the shape only (one @, a dotted domain, no blanks, no quoting); that mail arrives is for a message to prove.
    """
    address = unicodedata.normalize("NFKC", value).strip()
    local, at, domain = address.rpartition("@")
    labels = domain.split(".")
    if not at or not local:
        raise ValueError("An e-mail address looks like name@example.com.")
    if len(address.encode("utf-8", "replace")) > _LONGEST or len(local.encode("utf-8", "replace")) > 64:
        raise ValueError("That e-mail address is too long.")
    if any(_bad_in_address(character) for character in local + domain):
        raise ValueError("That e-mail address has a character that can't be in one.")
    if local.startswith(".") or local.endswith(".") or ".." in local:
        raise ValueError("The part of an e-mail address before the @ can't start, end or repeat with a dot.")
    if len(labels) < 2 or not all(_good_label(label) for label in labels) or labels[-1].isdecimal():
        raise ValueError("The part of an e-mail address after the @ must be a domain such as example.com.")
    return address


def checked_phone(value: str) -> str:
    """A new phone number, trimmed. Raises ValueError with a sentence that says what is wrong.

    7 to 15 digits (15 is the most of ITU-T E.164) in any script, a plus sign before them, and blanks, dots, dashes,
    slashes and brackets between them.
    """
    number = " ".join(unicodedata.normalize("NFKC", value).split())
    rest = number.removeprefix("+")
    if any(not character.isdecimal() and character not in _PHONE_MARKS for character in rest):
        raise ValueError("A phone number has digits, and maybe a + before them, blanks, dashes or brackets.")
    if not 7 <= len(_digits(number)) <= 15:
        raise ValueError("A phone number has 7 to 15 digits.")
    if len(number) > 40:
        raise ValueError("That phone number is too long.")
    return number


def masked(kind: ContactKind, value: str) -> str:
    """A contact as the audit shows it: enough to recognise, too little to use. Never longer than 80 characters."""
    key = contact_key(kind, value)
    if key is None:
        return f"({len(value)} characters)"
    if kind == "phone":
        return f"…{key[-2:]} ({len(key)} digits)" if len(key) > 4 else f"({len(key)} digits)"
    if kind == "email":
        try:
            local, _, domain = checked_email(key).rpartition("@")
        except ValueError:  # not an address, so it may be anything, a password too
            return f"({len(value)} characters)"
        return f"{local[0]}…@{domain}" if len(domain) <= 70 else f"{local[0]}…@ ({len(domain)} characters)"
    return f"{key[0]}… ({len(key)} characters)"


def _folded(value: str) -> str | None:
    if _unprintable(value):
        return None
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
    return unicodedata.normalize("NFKC", _visible(folded)) or None


def _visible(value: str) -> str:
    return "".join(character for character in value if unicodedata.category(character) != "Cf").strip()


def _unprintable(value: str) -> bool:
    """Whether the text, its ends aside, has control characters or half a surrogate pair (no database takes those)."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in value.strip())


def _digits(value: str) -> str:
    return "".join(str(unicodedata.decimal(character)) for character in value if character.isdecimal())


def _bad_in_address(character: str) -> bool:
    return character in _EMAIL_FORBIDDEN or character.isspace() or unicodedata.category(character)[0] == "C"


def _good_label(label: str) -> bool:
    # combining marks are letters' parts in many scripts; 63 is the limit of RFC 1035, section 2.3.4
    plain = all(character == "-" or unicodedata.category(character)[0] in "LMN" for character in label)
    return plain and 1 <= len(label) <= 63 and not label.startswith("-") and not label.endswith("-")
