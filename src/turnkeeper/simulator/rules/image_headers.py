"""Media type and size of an image, read from the head of its bytes: PNG, GIF, WebP, JPEG.

Formats: W3C PNG (IHDR), GIF89a (logical screen descriptor), RFC 9649 (WebP), ITU-T T.81 (JPEG frame headers).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ("ImageHead", "read_head")


class ImageHead(NamedTuple):
    """What the first bytes say. Width and height are pixels; 0 where the head was cut off before them."""

    media_type: str
    width: int
    height: int


def read_head(data: bytes) -> ImageHead | None:
    """The head of an image in one of the four formats; None for anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return ImageHead("image/png", *struct.unpack_from(">II", data, 16))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return ImageHead("image/gif", *struct.unpack_from("<HH", data, 6))
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return ImageHead("image/webp", *_webp_size(data))
        if data.startswith(b"\xff\xd8\xff"):
            return ImageHead("image/jpeg", *_jpeg_size(data))
    except (struct.error, IndexError):
        return ImageHead(_format_of(data), 0, 0)
    return None


def _format_of(data: bytes) -> str:
    first = {0x89: "image/png", 0x47: "image/gif", 0x52: "image/webp", 0xFF: "image/jpeg"}
    return first[data[0]]


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Walk the segments to the frame header (SOF0 to SOF15 without DHT, JPG and DAC)."""
    place = 2
    while True:
        while data[place] == 0xFF:
            place += 1
        marker = data[place]
        place += 1
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, place + 3)
            return width, height
        if marker in (0xD9, 0xDA):
            return 0, 0
        if not 0xD0 <= marker <= 0xD8:
            (length,) = struct.unpack_from(">H", data, place)
            place += max(length, 2)
