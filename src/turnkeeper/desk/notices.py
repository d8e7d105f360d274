"""The words of what is sent to customers."""

from __future__ import annotations

from turnkeeper.desk.changing import Change
from turnkeeper.desk.contact import masked
from turnkeeper.desk.couriers import Carried, Notice

__all__ = ("changed_notices", "code_notice")

_FOR = {
    "identify": "to confirm who you are",
    "act": "to confirm a change of your account",
    "new_contact": "to confirm that this contact is yours",
}
_NAMES = {"email": "e-mail address", "phone": "phone number"}


def code_notice(to: tuple[Carried, str], purpose: str, digits: str) -> Notice:
    """The message with a code."""
    kind, address = to
    return Notice(
        kind,
        address,
        "Your TechNova code",
        f"{digits} is your TechNova code {_FOR[purpose]}. It is good for 10 minutes. Nobody from TechNova asks you for"
        " it; if you didn't ask for it, do nothing.",
    )


def changed_notices(change: Change) -> tuple[Notice, Notice]:
    """What the old and the new contact are told once a contact has changed; neither is told the other one."""
    name = _NAMES[change.field]
    old = Notice(
        change.field,
        change.old_value,
        f"Your {name} at TechNova was changed",
        f"The {name} of your TechNova account was changed to {masked(change.field, change.new_value)}. If that wasn't"
        " you, call us at once; orders can't be cancelled without our staff for the next 72 hours.",
    )
    new = Notice(
        change.field,
        change.new_value,
        f"Your {name} at TechNova",
        f"This is now the {name} of your TechNova account.",
    )
    return old, new
