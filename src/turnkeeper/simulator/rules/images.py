"""Rules about images: how many, how large, of which kind. Images in resent history and in tool results count."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from turnkeeper.simulator.rules.image_headers import ImageHead, read_head
from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import BlockView, RequestView

__all__ = ("RULES",)

VISION = "https://platform.claude.com/docs/en/build-with-claude/vision"
MAX_BASE64 = 10 * 1024 * 1024
MAX_SIDE = 8_000
MANY = 20
MAX_SIDE_MANY = 2_000
_HEAD = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Image:
    """A base64 image: its place, the path that the API's text uses, and its data."""

    path: str
    shown: str
    media_type: str
    data: str

    def head(self) -> ImageHead | None:
        """What its bytes say they are; read in full only where the head of a JPEG is long."""
        head = read_head(_decoded(self.data[:_HEAD]))
        if head is not None and not head.width and len(self.data) > _HEAD:
            head = read_head(_decoded(self.data))
        return head


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data[: len(data) // 4 * 4], validate=True)
    except (ValueError, binascii.Error):
        return b""


def _blocks(view: RequestView) -> Iterator[tuple[BlockView, str]]:
    """Every image and the path of its `image` member in the API's texts."""
    for inner, block in view.deep_blocks:
        if inner.type == "image":
            nested = inner.path.removeprefix(block.path)
            middle = f".{block.type}{nested}" if nested else ""
            yield inner, f"{block.path}{middle}.image"


def _base64_images(view: RequestView) -> Iterator[_Image]:
    for block, shown in _blocks(view):
        source = block.data.get("source")
        if isinstance(source, Mapping) and source.get("type") == "base64" and isinstance(source.get("data"), str):
            yield _Image(block.path, shown, str(source.get("media_type")), source["data"])


@rule(
    "images.count",
    source=VISION,
    sentence="A request holds at most 600 images, or 100 on models with a window of 200,000 tokens.",
    repair="Drop older images from the history, or describe them in text.",
    text_settled=False,
)
def count(view: RequestView) -> Iterator[Finding]:
    limit = view.model.image_limit
    paths = [block.path for block, _ in _blocks(view)]
    if limit is not None and len(paths) > limit:
        yield Finding(paths[limit], f"messages: too many images: {len(paths)} > {limit}")


@rule(
    "images.base64-valid",
    source=VISION,
    sentence="The data of a base64 image is base64, without a data: prefix and line breaks.",
    repair="Encode the bytes with standard base64 and send the text alone.",
    text_settled=False,
)
def base64_valid(view: RequestView) -> Iterator[Finding]:
    for image in _base64_images(view):
        try:
            base64.b64decode(image.data, validate=True)
        except (ValueError, binascii.Error):
            yield Finding(image.path, f"{image.shown}.source.base64.data: Invalid base64 data")


@rule(
    "images.size",
    source=f"{VISION}; https://platform.claude.com/docs/en/api/errors",
    sentence="The base64 data of an image has at most 10 MB.",
    repair="Scale the image down or compress it more.",
)
def size(view: RequestView) -> Iterator[Finding]:
    for image in _base64_images(view):
        if len(image.data) > MAX_BASE64:
            yield Finding(
                image.path,
                f"{image.shown}.source.base64: image exceeds 10 MB maximum: {len(image.data)} bytes > {MAX_BASE64} "
                f"bytes",
            )


@rule(
    "images.media-type",
    source="https://github.com/home-assistant/core/issues/167208; https://github.com/vybestack/llxprt-code/issues/2130",
    sentence="An image is what its media_type says: PNG, JPEG, GIF or WebP.",
    repair="Set media_type from the image's bytes, not from its file name.",
)
def media_type(view: RequestView) -> Iterator[Finding]:
    for image in _base64_images(view):
        head = image.head()
        if head is not None and head.media_type != image.media_type:
            yield Finding(
                image.path,
                f"{image.shown}.source.base64: The image was specified using the {image.media_type} media type, but "
                f"the image appears to be a {head.media_type} image",
            )


@rule(
    "images.readable",
    source="https://github.com/anthropics/anthropic-sdk-typescript/issues/682 (the same check)",
    sentence="The bytes of a base64 image are an image of one of the four formats.",
    repair="Send PNG, JPEG, GIF or WebP.",
    text_settled=False,
)
def readable(view: RequestView) -> Iterator[Finding]:
    for image in _base64_images(view):
        if (not image.data or _decoded(image.data[:64])) and image.head() is None:
            yield Finding(image.path, f"{image.shown}.source.base64.data: Could not process image")


@rule(
    "images.dimensions",
    source=f"{VISION}; anthropic/types/image_dimensions_too_large_error_details.py (SDK 2.14.0); "
    "https://github.com/anthropics/claude-code/issues/49537",
    sentence="No side of an image is longer than 8,000 pixels, or 2,000 pixels in a request with more than 20 images.",
    repair="Scale the images in `paths` down to the limit, or remove them.",
)
def dimensions(view: RequestView) -> Iterator[Finding]:
    many = sum(1 for _ in _blocks(view)) > MANY
    limit = MAX_SIDE_MANY if many else MAX_SIDE
    over = [image for image in _base64_images(view) if (head := image.head()) and max(head.width, head.height) > limit]
    if over:
        which = "max allowed size for many-image requests" if many else "max allowed size"
        yield Finding(
            over[0].path,
            f"{over[0].shown}.source.base64.data: At least one of the image dimensions exceed {which}: {limit} pixels",
            details={
                "error_code": "image_dimensions_too_large",
                "max_side_length_pixels": limit,
                "paths": [image.path for image in over],
            },
        )


RULES: tuple[Rule, ...] = (count, base64_valid, size, media_type, readable, dimensions)
