"""Cases of images."""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.simulator.rules.asked import Case, ask, assistant, call, image, png, refused, result, taken, tool, user

__all__ = ("CASES",)


def encoded(*parts: bytes) -> str:
    return base64.b64encode(b"".join(parts)).decode()


JPEG = encoded(
    b"\xff\xd8\xff\xe1", struct.pack(">H", 400_00), bytes(39_998), b"\xff\xc0", struct.pack(">HBHH", 17, 8, 9_000, 10)
)
"""A JPEG 10 pixels wide and 9,000 high, behind a long EXIF segment."""
GIF = encoded(b"GIF89a", struct.pack("<HH", 12, 8_001))
WEBP = encoded(b"RIFF", bytes(4), b"WEBPVP8X", bytes(8), (8_000).to_bytes(3, "little"), (4).to_bytes(3, "little"))
WEBP_LOSSLESS = encoded(b"RIFF", bytes(4), b"WEBPVP8L", bytes(4), b"\x2f", struct.pack("<I", (99 << 14) | 99))
WEBP_LOSSY = encoded(b"RIFF", bytes(4), b"WEBPVP8 ", bytes(4), bytes(3), b"\x9d\x01\x2a", struct.pack("<HH", 640, 480))
_SIDE = "At least one of the image dimensions exceed max allowed size: 8000 pixels"
_MANY = "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"


def showing(*images: dict[str, Any], **members: Any) -> dict[str, Any]:
    return ask(user([*images, {"type": "text", "text": "Что на фото?"}]), **members)


def too_long(path: str, side: int, *paths: str) -> dict[str, Any]:
    return {"error_code": "image_dimensions_too_large", "max_side_length_pixels": side, "paths": list(paths or [path])}


def _oversized(title: str, data: str, media_type: str) -> Case:
    return refused(
        "images.dimensions",
        title,
        showing(image(data, media_type)),
        "messages.0.content.0",
        f"messages.0.content.0.image.source.base64.data: {_SIDE}",
        details=too_long("messages.0.content.0", 8_000),
    )


CASES: tuple[Case, ...] = (
    taken("images.count", "600", showing(*[image()] * 600)),
    taken("images.count", "100 with a window of 200,000", showing(*[image()] * 100, model="claude-haiku-4-5")),
    refused(
        "images.count",
        "101 with a window of 200,000",
        showing(*[image()] * 101, model="claude-haiku-4-5"),
        "messages.0.content.100",
        "messages: too many images: 101 > 100",
    ),
    refused(
        "images.count",
        "those in tool results too",
        ask(user([image()] * 600), assistant([call()]), user([result(content=[image()])]), tools=[tool()]),
        "messages.2.content.0.content.0",
        "messages: too many images: 601 > 600",
    ),
    taken("images.base64-valid", "an image", showing(image())),
    refused(
        "images.base64-valid",
        "a data URL",
        showing(image("data:image/png;base64," + png(8, 8))),
        "messages.0.content.0",
        "messages.0.content.0.image.source.base64.data: Invalid base64 data",
    ),
    taken("images.size", "just under 10 MB", showing(image(png(8, 8, padding=7_800_000)))),
    refused(
        "images.size",
        "over",
        showing(image(png(8, 8, padding=7_900_000))),
        "messages.0.content.0",
        "messages.0.content.0.image.source.base64: image exceeds 10 MB maximum: 10533372 bytes > 10485760 bytes",
    ),
    taken(
        "images.media-type",
        "WebP in three forms",
        showing(
            image(WEBP_LOSSLESS, "image/webp"),
            image(WEBP_LOSSY, "image/webp"),
            image(encoded(b"GIF87a\1\0\1\0"), "image/gif"),
        ),
    ),
    refused(
        "images.media-type",
        "a JPEG called PNG, inside a result",
        ask(
            user(),
            assistant([call()]),
            user([result(content=[{"type": "text", "text": "фото"}, image(JPEG)])]),
            tools=[tool()],
        ),
        "messages.2.content.0.content.1",
        "messages.2.content.0.tool_result.content.1.image.source.base64: The image was specified using the image/png "
        "media type, but the image appears to be a image/jpeg image",
    ),
    taken("images.readable", "a URL is not read", showing({"type": "image", "source": {"type": "url", "url": "x"}})),
    refused(
        "images.readable",
        "text",
        showing(image(encoded("это не картинка".encode()))),
        "messages.0.content.0",
        "messages.0.content.0.image.source.base64.data: Could not process image",
    ),
    taken("images.dimensions", "8,000 pixels", showing(image(png(8_000, 1)))),
    taken("images.dimensions", "2,000 pixels among 21", showing(*[image(png(2_000, 2_000))] * 21)),
    _oversized("a PNG", png(8_001, 5), "image/png"),
    _oversized("a GIF", GIF, "image/gif"),
    _oversized("a WebP", WEBP, "image/webp"),
    _oversized("a JPEG behind a long EXIF segment", JPEG, "image/jpeg"),
    refused(
        "images.dimensions",
        "2,001 pixels among 21",
        showing(*[image()] * 19, image(png(1, 2_001)), image(png(3_000, 1))),
        "messages.0.content.19",
        f"messages.0.content.19.image.source.base64.data: {_MANY}",
        details=too_long("", 2_000, "messages.0.content.19", "messages.0.content.20"),
    ),
)
