"""Content blocks that a tool means as such: only these become blocks of the API, whatever else looks like one."""

from __future__ import annotations

import base64
from typing import Any

__all__ = ("ContentBlock",)


class ContentBlock(dict[str, Any]):
    """A block of a result, by `ContentBlock.image(…)`, `.document(…)` and `.text(…)`, or from the API's own form.

    A plain dict is data, also where it has a `type`: it may have come out of a database or from a stranger, and a block
    can name an address that the API fetches, or a tool that it loads.
    """

    @classmethod
    def text(cls, text: str) -> ContentBlock:
        """Text."""
        return cls(type="text", text=text)

    @classmethod
    def image(cls, data: bytes) -> ContentBlock:
        """A PNG, JPEG, GIF or WebP image."""
        return cls(type="image", source=_base64(data, "image/png"))

    @classmethod
    def document(cls, content: bytes | str, *, title: str | None = None) -> ContentBlock:
        """A PDF by its bytes, or plain text."""
        source = (
            _base64(content, "application/pdf")
            if isinstance(content, bytes)
            else {"type": "text", "media_type": "text/plain", "data": content}
        )
        return cls(type="document", source=source, **({} if title is None else {"title": title}))


def _base64(data: bytes, media_type: str) -> dict[str, Any]:
    """A source; the media type of an image is corrected by its bytes when the result is made."""
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
