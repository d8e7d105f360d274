"""What an agent says about long conversations, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeeper.core.compacting import LEAST_TRIGGER, Compaction
from turnkeeper.errors import ConfigurationError
from turnkeeper.models import Model

__all__ = ("compaction_for",)


def compaction_for(given: Any, model: Model, extra: Mapping[str, Any]) -> Compaction | None:
    """What the option `compaction` means; None for none. ConfigurationError for what can't be."""
    if given is False or "context_management" in extra:
        return None
    if given is None or given is True:
        if given is True and not model.compaction:
            raise ConfigurationError(f"{model.id} is not known to compact; say from how many tokens on, to ask it to")
        return Compaction.for_window(model.context_window) if model.compaction and model.context_window else None
    if not isinstance(given, int) or given < LEAST_TRIGGER:
        raise ConfigurationError(f"compaction is {LEAST_TRIGGER:,} tokens or more, or False; not {given!r}")
    return Compaction(given)
