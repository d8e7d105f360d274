"""How many tokens a prompt may have at the most, before the API has counted it.

What a reply's `usage` counted is exact for all that came before it; only what was added since is estimated: one token
for two bytes of UTF-8, more than prose of any language needs (a token has about four bytes of English and three of
Chinese), and the catalogue's most for an image.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ("Weight", "weigh")

_DATA = re.compile(r'"data":"([A-Za-z0-9+/=]{1000,})"')
_BYTES_PER_TOKEN = 2
_FILE_BYTES_PER_TOKEN = 8
"""Base64 of a document: a page of a PDF is about 3,000 tokens and seldom less than 24 kB."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of text, images, and bytes of files in base64."""

    text: int = 0
    images: int = 0
    files: int = 0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.text + other.text, self.images + other.images, self.files + other.files)

    def tokens(self, image_tokens: int) -> int:
        """The most tokens that this may be, where an image has at most so many."""
        return -(-self.text // _BYTES_PER_TOKEN) + self.images * image_tokens - (-self.files // _FILE_BYTES_PER_TOKEN)


def weigh(raw: str) -> Weight:
    """What a block or message (JSON text) holds."""
    size = len(raw) if raw.isascii() else len(raw.encode("utf-8", "surrogatepass"))
    images = raw.count('"type":"image"')
    if not images and '"base64"' not in raw:
        return Weight(text=size)
    data = sum(len(found) for found in _DATA.findall(raw))
    files = data if '"type":"document"' in raw else 0
    return Weight(text=size - data, images=images, files=files)
