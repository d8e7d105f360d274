"""What the official conformance suite expects a server to offer, as far as tools go: `turnkeeper mcp -T` this file."""

from __future__ import annotations

import base64
from typing import Any

import anyio

import turnkeeper as tk

RED_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)


@tk.tool(effect="read")
def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


@tk.tool(effect="read")
def test_image_content() -> bytes:
    """An image."""
    return RED_PIXEL


PDF = tk.ContentBlock.document(b"%PDF-1.4 a small document")


@tk.tool(effect="read")
def test_embedded_resource() -> tk.ContentBlock:
    """A document."""
    return PDF


@tk.tool(effect="read")
def test_multiple_content_types() -> list[Any]:
    """Text, an image and a document."""
    return ["Multiple content types test:", RED_PIXEL, PDF]


@tk.tool
def test_error_handling() -> str:
    """Fail."""
    raise tk.ToolError("This tool intentionally returns an error for testing")


@tk.tool
async def test_tool_with_progress(ctx: tk.ToolContext) -> str:
    """Tell of progress."""
    for share in (0.0, 0.5, 1.0):
        ctx.progress(f"{share:.0%}", share)
        await anyio.sleep(0.05)
    return "done"


def _echo(name: str = "", address: dict[str, Any] | None = None) -> str:
    return f"{name} {address}"


json_schema_2020_12_tool = tk.Tool.from_schema(
    "json_schema_2020_12_tool",
    "Tool with JSON Schema 2020-12 features",
    {
        "type": "object",
        "$defs": {
            "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    },
    _echo,
)
