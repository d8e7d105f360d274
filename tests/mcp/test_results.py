"""What a server answers reaches the model whole: errors as errors, every block in order, nothing flattened."""

from __future__ import annotations

import base64
import json
from typing import Any

import mcp_types
import pytest

import turnkeeper as tk
from tests.mcp.conftest import Result, called, served, text
from turnkeeper.mcp.results import FAILED_SILENTLY, content_of

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


@pytest.mark.anyio
async def test_errors_stay_errors_and_no_result_is_lost() -> None:
    """Report B08-mcp-iserror-dropped.

    https://github.com/use-agent-os/agent-os/issues/1558
    """
    server = served(
        {
            "fail": text("quota exceeded", is_error=True),
            "multi": text("first", "второй"),
            "only_struct": Result(content=[], structured_content={"n": 3}),
            "says_error": text("Error: is the title of a song"),
            "fail_empty": Result(content=[], is_error=True),
        }
    )
    async with tk.mcp.connect({"s": server}) as tools:
        results = await called(tools, *((name, {}) for name in tools.names))
    fail, multi, only_struct, says_error, fail_empty = results
    assert [result.get("is_error", False) for result in results] == [True, False, False, False, True]
    assert fail["content"] == "quota exceeded"
    assert [block["text"] for block in multi["content"]] == ["first", "второй"]
    assert json.loads(only_struct["content"]) == {"n": 3}
    assert says_error["content"] == "Error: is the title of a song"
    assert fail_empty["content"] == FAILED_SILENTLY


@pytest.mark.parametrize(
    ("texts", "structured", "told"),
    [
        (['{"n": 3}'], {"n": 3}, ['{"n": 3}']),
        (["3"], {"result": 3}, ["3"]),
        (["a", "b"], {"result": ["a", "b"]}, ["a", "b"]),
        (['{"a":1}', '{"a":2}'], {"result": [{"a": 1}, {"a": 2}]}, ['{"a":1}', '{"a":2}']),
        (["три"], {"result": "три"}, ["три"]),
        (["четыре"], {"content": "четыре"}, ["четыре"]),
        (["3 found"], {"n": 3}, ["3 found", '{"n":3}']),
        ([], [1, "二"], ['[1,"二"]']),
        ([], None, []),
    ],
)
def test_structured_content_is_told_once(texts: list[str], structured: Any, told: list[str]) -> None:
    content = content_of(text(*texts, structured_content=structured))
    assert ([content] if isinstance(content, str) else [block["text"] for block in content]) == (told or [""])


def test_an_error_with_structured_content_only() -> None:
    with pytest.raises(tk.ToolError, match=r'^\{"code":7\}$'):
        content_of(Result(content=[], structured_content={"code": 7}, is_error=True))


@pytest.mark.anyio
async def test_blocks_of_every_kind() -> None:
    pdf = base64.b64encode(b"%PDF-1.7 ...").decode()
    content: list[Any] = [
        mcp_types.ImageContent(data=PNG, mime_type="image/png"),
        mcp_types.ImageContent(data="bm8=", mime_type="image/svg+xml"),
        mcp_types.AudioContent(data="AAAA", mime_type="audio/wav"),
        mcp_types.EmbeddedResource(
            resource=mcp_types.TextResourceContents(uri="file:///заметка.txt", text="купить 🥛", mime_type="text/plain")
        ),
        mcp_types.EmbeddedResource(
            resource=mcp_types.BlobResourceContents(uri="file:///a.pdf", blob=pdf, mime_type="application/pdf")
        ),
        mcp_types.EmbeddedResource(
            resource=mcp_types.BlobResourceContents(uri="file:///a.bin", blob="AAAA", mime_type="application/zip")
        ),
        mcp_types.ResourceLink(uri="demo://one", name="one", description="the\nfirst", mime_type="text/plain"),
    ]
    async with tk.mcp.connect({"s": served({"all": Result(content=content)})}) as tools:
        (result,) = await called(tools, ("s__all", {}))
    image, svg, audio, note, document, archive, link = result["content"]
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    assert svg["text"] == "[left out: image of type image/svg+xml, only PNG, JPEG, GIF and WebP images can be shown]"
    assert audio["text"] == "[audio of type audio/wav, 3 bytes: it can't be shown here]"
    assert note["text"] == "[resource file:///заметка.txt]\nкупить 🥛"
    assert (document["type"], document["source"]["media_type"]) == ("document", "application/pdf")
    assert archive["text"] == "[resource file:///a.bin of type application/zip, 3 bytes: it can't be shown here]"
    assert link["text"] == "[link to a resource: demo://one (one, text/plain, the first)]"


@pytest.mark.anyio
async def test_a_huge_result_is_cut_and_a_lone_surrogate_mended() -> None:
    server = served({"long": text("я" * 300_000), "odd": text("half \ud83d of an emoji")})
    async with tk.mcp.connect({"s": server}) as tools:
        long, odd = await called(tools, ("s__long", {}), ("s__odd", {}))
    assert len(long["content"]) == 100_000
    assert long["content"].endswith("characters were cut]")
    assert odd["content"] == "half � of an emoji"


@pytest.mark.anyio
async def test_a_result_that_the_tool_s_own_schema_forbids_is_an_error() -> None:
    tool = mcp_types.Tool(
        name="t", input_schema={"type": "object"}, output_schema={"type": "object", "required": ["n"]}
    )
    server = served([tool])  # answers with text only
    async with tk.mcp.connect({"s": server}) as tools:
        (result,) = await called(tools, ("s__t", {}))
    assert (result["is_error"], result["content"]) == (
        True,
        "The MCP server 's' answered the call with something that its own description doesn't allow. It may have taken"
        " effect.",
    )
