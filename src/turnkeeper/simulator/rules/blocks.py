"""The content blocks of the stable API as tables: which members each type has, and what they look like.

Source of every table: the `*_block_param.py` files of anthropic/types (SDK 2.14.0) that the entries are named after.
"""

from __future__ import annotations

from collections.abc import Mapping

from turnkeeper.simulator.rules.shapes import (
    Checker,
    array_of,
    boolean,
    either,
    integer,
    nullable,
    object_,
    one_of,
    pattern,
    record,
    string,
    tagged,
)

__all__ = (
    "BLOCKS",
    "CACHE_CONTROL",
    "CONTENT",
    "CONTENT_WITH_SUMMARIES",
    "SERVER_RESULTS",
    "SERVER_TOOL_NAMES",
    "SYSTEM",
    "TEXT",
)

SERVER_TOOL_NAMES = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
)
"""Names that a server_tool_use may have (anthropic/types/server_tool_use_block_param.py)."""

SERVER_RESULTS: Mapping[str, str] = {
    **{name: f"{name}_tool_result" for name in SERVER_TOOL_NAMES},
    "tool_search_tool_regex": "tool_search_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
}
"""The type of the block that answers a server tool."""

CACHE_CONTROL = nullable(tagged({"ephemeral": record({"type": string, "ttl": one_of("5m", "1h")})}))

_MARK: Mapping[str, Checker] = {"cache_control": CACHE_CONTROL}


def _block(members: Mapping[str, Checker], *needs: str, marked: bool = True) -> Checker:
    return record({"type": string, **members, **(_MARK if marked else {})}, needs)


def _location(**members: Checker) -> Checker:
    """A citation; `document_title` and `title` may be null, and the API adds members of its own to what it returns."""
    return record({"type": string, "cited_text": string, **members}, ("cited_text",), open_=True)


_CITATION = tagged(
    {
        "char_location": _location(document_index=integer, start_char_index=integer, end_char_index=integer),
        "page_location": _location(document_index=integer, start_page_number=integer, end_page_number=integer),
        "content_block_location": _location(document_index=integer, start_block_index=integer, end_block_index=integer),
        "search_result_location": _location(
            search_result_index=integer, start_block_index=integer, end_block_index=integer, source=string
        ),
        "web_search_result_location": _location(encrypted_index=string, url=string),
    }
)

TEXT = _block({"text": string, "citations": nullable(array_of(_CITATION))}, "text")

_URL = record({"type": string, "url": string}, ("url",))
_FILE = record({"type": string, "file_id": string}, ("file_id",))
_CITATIONS_CONFIG = record({"enabled": boolean})

_IMAGE = _block(
    {
        "source": tagged(
            {
                "base64": record(
                    {
                        "type": string,
                        "media_type": one_of("image/jpeg", "image/png", "image/gif", "image/webp"),
                        "data": string,
                    },
                    ("media_type", "data"),
                ),
                "url": _URL,
                "file": _FILE,
            }
        ),
        "transformations": nullable(record({"oversized_image": one_of("downsize", "error")})),
    },
    "source",
)

_DOCUMENT = _block(
    {
        "source": tagged(
            {
                "base64": record(
                    {"type": string, "media_type": one_of("application/pdf"), "data": string}, ("media_type", "data")
                ),
                "text": record(
                    {"type": string, "media_type": one_of("text/plain"), "data": string}, ("media_type", "data")
                ),
                "content": record(
                    {"type": string, "content": either(string, array_of(tagged({"text": TEXT, "image": _IMAGE})))},
                    ("content",),
                ),
                "url": _URL,
                "file": _FILE,
            }
        ),
        "citations": nullable(_CITATIONS_CONFIG),
        "context": nullable(string),
        "title": nullable(string),
    },
    "source",
)

_SEARCH_RESULT = _block(
    {
        "content": array_of(tagged({"text": TEXT})),
        "source": string,
        "title": string,
        "citations": nullable(_CITATIONS_CONFIG),
    },
    "content",
    "source",
    "title",
)

_CALLER = nullable(
    tagged(
        {
            "direct": record({"type": string}),
            "code_execution_20250825": record({"type": string, "tool_id": string}, ("tool_id",)),
            "code_execution_20260120": record({"type": string, "tool_id": string}, ("tool_id",)),
        }
    )
)
_ID = pattern("[a-zA-Z0-9_-]+")

_TOOL_RESULT = _block(
    {
        "tool_use_id": _ID,
        "content": nullable(
            either(
                string,
                array_of(
                    tagged(
                        {
                            "text": TEXT,
                            "image": _IMAGE,
                            "document": _DOCUMENT,
                            "search_result": _SEARCH_RESULT,
                            "tool_reference": _block({"tool_name": string}, "tool_name"),
                            "browser_state": _block(
                                {"tabs": array_of(object_), "state_changes": nullable(array_of(object_))}, "tabs"
                            ),
                        }
                    )
                ),
            )
        ),
        "is_error": nullable(boolean),
        "toolset_name": nullable(string),
    },
    "tool_use_id",
)

_SERVER_RESULT = record(
    {"type": string, "tool_use_id": string, "caller": _CALLER, **_MARK}, ("tool_use_id", "content"), open_=True
)

BLOCKS: Mapping[str, Checker] = {
    "text": TEXT,
    "image": _IMAGE,
    "document": _DOCUMENT,
    "search_result": _SEARCH_RESULT,
    # A cache mark on thinking is a rule of its own (cache.not-on-thinking), so the tables let it pass.
    "thinking": _block({"thinking": string, "signature": string}, "signature", "thinking"),
    "redacted_thinking": _block({"data": string}, "data"),
    "tool_use": _block(
        {
            "id": _ID,
            "name": pattern("(?s:.*)", least=1, most=200),
            "input": object_,
            "caller": _CALLER,
            "toolset_name": nullable(string),
        },
        "id",
        "name",
        "input",
    ),
    "tool_result": _TOOL_RESULT,
    "server_tool_use": _block(
        {"id": string, "name": one_of(*SERVER_TOOL_NAMES), "input": object_, "caller": _CALLER}, "id", "name", "input"
    ),
    **dict.fromkeys(SERVER_RESULTS.values(), _SERVER_RESULT),
    "container_upload": _block({"file_id": string}, "file_id"),
}
"""Every block type of the stable API."""

CONTENT = either(string, array_of(tagged(BLOCKS)))
_SUMMARY = _block({"content": nullable(string), "encrypted_content": nullable(string), "signature": nullable(string)})
CONTENT_WITH_SUMMARIES = either(string, array_of(tagged({**BLOCKS, "compaction": _SUMMARY})))
"""Under the beta of compaction: anthropic/types/beta/beta_compaction_block_param.py (SDK 2.14.0)."""
SYSTEM = either(string, array_of(tagged({"text": TEXT})))
