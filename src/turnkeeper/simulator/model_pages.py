"""GET /v1/models and /v1/models/{id}, from the catalogue. Shape: the SDK's types/model_info.py."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from turnkeeper.models import Model, catalogue, find

__all__ = ("model_list", "model_page")


def model_list(query: Mapping[str, str], *, today: datetime.date) -> dict[str, Any]:
    """One page of models; `query` may hold `limit`, `after_id` and `before_id`."""
    pages = [_page(model, today) for model in catalogue()]
    ids = [page["id"] for page in pages]
    if query.get("after_id") in ids:
        pages = pages[ids.index(query["after_id"]) + 1 :]
    if query.get("before_id") in ids:
        pages = pages[: ids.index(query["before_id"])]
    limit = int(query["limit"]) if query.get("limit", "").isdecimal() else 20
    shown = pages[:limit]
    return {
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "has_more": len(pages) > len(shown),
        "last_id": shown[-1]["id"] if shown else None,
    }


def model_page(model_id: str, *, today: datetime.date) -> dict[str, Any] | None:
    """One model by any form of its id, None if it isn't in the catalogue."""
    model = find(model_id)
    return _page(model, today) if model.known else None


def _page(model: Model, today: datetime.date) -> dict[str, Any]:
    ends = model.end_of_life
    words = model.id.removeprefix("claude-").split("-")
    name = " ".join(word.capitalize() for word in words if not word.isdecimal())
    version = ".".join(word for word in words if word.isdecimal())
    return {
        "type": "model",
        "id": model.id,
        "display_name": f"Claude {name} {version}".strip(),
        "created_at": f"{model.released or datetime.date(1970, 1, 1)}T00:00:00Z",
        "lifecycle": "active" if ends is None else "deprecated" if ends >= today else "retired",
        "deprecated_at": None,
        "retires_at": None if ends is None else f"{ends}T00:00:00Z",
        "line": next((word for word in words if word in LINES), None),
        "max_input_tokens": model.context_window,
        "max_tokens": model.max_output,
    }


LINES = ("haiku", "sonnet", "opus", "fable", "mythos")
