"""Results as content blocks: blocks that a tool returns, image bytes, limits."""

from __future__ import annotations

import base64
import copy
import json
import types
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel

import turnkeeper as tk
from turnkeeper.tools import ContentBlock, media, render_result
from turnkeeper.types import Block

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
TEXT = {"type": "text", "text": "привет"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "long text"}}
SEARCH = {
    "type": "search_result",
    "source": "kb/1",
    "title": "Returns",
    "content": [{"type": "text", "text": "30 days"}],
}
TOOL = {"type": "tool_reference", "tool_name": "refund"}


def rendered(value: Any, **options: Any) -> str | list[Block]:
    """What becomes of dicts that are said to be blocks."""
    if isinstance(value, dict):
        value = ContentBlock(value)
    elif isinstance(value, list | tuple):
        value = [ContentBlock(item) if isinstance(item, dict) else item for item in value]
    return render_result(value, **options)


@pytest.mark.parametrize("block", [TEXT, IMAGE, DOCUMENT, SEARCH, TOOL])
def test_a_block_and_a_list_of_blocks_pass_as_blocks(block: dict[str, Any]) -> None:
    assert rendered(block) == [block]
    assert rendered([block, TEXT]) == [block, TEXT]
    assert rendered((block,)) == [block]


@pytest.mark.parametrize("block", [TEXT, IMAGE, DOCUMENT, SEARCH, TOOL])
def test_data_that_looks_like_a_block_is_data_however_it_comes(block: dict[str, Any]) -> None:
    """A row of a database or a stranger's JSON must not become what the API fetches or loads."""
    written = json.dumps(block, ensure_ascii=False, separators=(",", ":"))
    kind = block["type"]

    class Row(BaseModel):
        model_config = {"extra": "allow"}
        type: str = kind

    for value in (block, Row(**block), types.MappingProxyType(block)):
        assert json.loads(str(render_result(value))) == block
    assert render_result(block) == written
    assert render_result([block, block]) == f"[{written},{written}]"
    assert render_result([ContentBlock.text("вот"), block]) == [
        {"type": "text", "text": "вот"},
        {"type": "text", "text": written},
    ]


def test_a_tool_says_what_is_a_block() -> None:
    assert render_result([tk.ContentBlock.image(PNG), tk.ContentBlock.document("# Договор", title="契約"), 7]) == [
        base64_block(encoded(PNG)),
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "# Договор"},
            "title": "契約",
        },
        {"type": "text", "text": "7"},
    ]
    assert render_result(ContentBlock.document(b"%PDF-1.7")) == [
        base64_block(encoded(b"%PDF-1.7"), "application/pdf", "document")
    ]
    assert render_result(ContentBlock.image(b"GIF89a....")) == [base64_block(encoded(b"GIF89a...."), "image/gif")]


def test_a_block_keeps_its_other_fields_and_is_not_changed() -> None:
    block = {**DOCUMENT, "title": "Договор \ud800", "citations": {"enabled": True}}
    before = copy.deepcopy(block)
    assert rendered(block) == [{**block, "title": "Договор �"}]
    assert block == before


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "image", "name": "cat"},
        {"type": "video", "text": "x"},
        {"type": ["text"], "text": "x"},
        {"type": "image", "source": {"path": "cat.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
        {"type": "image", "source": {"type": ["url"], "url": "https://example.com"}},
        {"type": "document", "source": {"type": "text", "data": 7}},
        {**SEARCH, "content": ["plain text"]},
        [TEXT, {"type": "order", "id": 1}],
        ["only", "texts"],
    ],
)
def test_a_block_without_the_fields_of_its_type_is_json(value: Any) -> None:
    found = rendered(value)
    assert isinstance(found, str) or (found[0], found[1]["type"]) == (TEXT, "text")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"GIF87a....", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_image_bytes_become_an_image_block(data: bytes, media_type: str) -> None:
    encoded = base64.b64encode(data).decode()
    block = {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}
    assert render_result(data) == [block]
    assert render_result(bytearray(data)) == [block]
    assert render_result(["图:", data]) == [{"type": "text", "text": "图:"}, block]
    assert render_result({"chart": data}) == f'{{"chart":"data:{media_type};base64,{encoded}"}}'


def test_bytes_in_a_source_are_encoded() -> None:
    block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": b"%PDF"}}
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    assert rendered(block) == [{"type": "document", "source": source}]


def test_a_block_of_the_sdk_passes_as_a_block() -> None:
    assert render_result(anthropic.types.TextBlock(type="text", text="x")) == [{"type": "text", "text": "x"}]


def test_blank_text_blocks_are_left_out() -> None:
    blank = {"type": "text", "text": " \n"}
    assert rendered([blank, TEXT]) == [TEXT]
    assert rendered([blank]) == "(no output)"
    assert rendered({**SEARCH, "content": [blank]}) == "(no output)"
    assert rendered({**SEARCH, "content": [blank, TEXT]}) == [{**SEARCH, "content": [TEXT]}]


def test_texts_of_blocks_share_the_limit_and_the_mark_says_how_much_was_cut() -> None:
    long = {"type": "text", "text": "a" * 300}
    blocks = rendered([long, IMAGE, {**SEARCH, "content": [{"type": "text", "text": "b" * 300}]}], limit=200)
    assert blocks == [
        {"type": "text", "text": "a" * 120},
        IMAGE,
        {"type": "text", "text": "[truncated: 480 of 600 characters were cut]"},
    ]


def test_an_image_that_the_api_would_refuse_for_its_size_is_named_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "BASE64_LIMIT", 10)
    assert rendered(PNG) == [
        {"type": "text", "text": "[left out: image of type image/png, 24 base64 characters, limit 10]"}
    ]


def base64_block(data: str | bytes, media_type: Any = "image/png", kind: str = "image") -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (base64_block("@@@"), "image of type image/png, its data is not base64"),
        (base64_block("привет"), "image of type image/png, its data is not base64"),
        (
            base64_block(encoded(b"<svg/>"), "image/svg+xml"),
            "image of type image/svg+xml, only PNG, JPEG, GIF and WebP images can be shown",
        ),
        (base64_block(b"", None), "image, only PNG, JPEG, GIF and WebP images can be shown"),
        (
            base64_block(encoded(b"PK\x03\x04"), "application/msword", "document"),
            "document of type application/msword, only PDF documents can be shown",
        ),
        (
            base64_block("%%%", "application/pdf", "document"),
            "document of type application/pdf, its data is not base64",
        ),
    ],
)
def test_what_the_api_would_refuse_with_every_later_request_is_named_instead(block: dict[str, Any], says: str) -> None:
    before = copy.deepcopy(block)
    assert rendered([TEXT, block]) == [TEXT, {"type": "text", "text": f"[left out: {says}]"}]
    assert block == before


@pytest.mark.parametrize(
    "given",
    [
        base64_block(encoded(PNG), "image/jpeg"),
        base64_block(encoded(PNG), None),
        base64_block(f"data:image/png;base64,{encoded(PNG)}"),
        base64_block(base64.encodebytes(PNG * 10 + b"\0").decode()),
        base64_block(PNG, "image/x-unknown"),
    ],
)
def test_an_image_is_sent_as_what_its_bytes_say(given: dict[str, Any]) -> None:
    blocks = rendered(given)
    assert isinstance(blocks, list)
    (block,) = blocks
    assert block["source"]["media_type"] == "image/png"
    assert base64.b64decode(block["source"]["data"], validate=True).startswith(PNG)


def test_a_document_of_text_is_plain_text_whatever_it_was_called() -> None:
    block = {"type": "document", "source": {"type": "text", "media_type": "text/markdown", "data": "# Договор"}}
    source = {"type": "text", "media_type": "text/plain", "data": "# Договор"}
    assert rendered(block) == [{"type": "document", "source": source}]


def test_a_document_made_of_blocks_keeps_texts_and_sound_images() -> None:
    parts = [TEXT, base64_block("@@@"), base64_block(PNG), {"page": 2}]
    assert rendered({"type": "document", "source": {"type": "content", "content": parts}}) == [
        {
            "type": "document",
            "source": {
                "type": "content",
                "content": [
                    TEXT,
                    {"type": "text", "text": "[left out: image of type image/png, its data is not base64]"},
                    base64_block(encoded(PNG)),
                    {"type": "text", "text": '{"page":2}'},
                ],
            },
        }
    ]
