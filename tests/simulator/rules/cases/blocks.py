"""Cases of content blocks: the members of each type, and the texts with their paths."""

from __future__ import annotations

from tests.simulator.rules.asked import Case, ask, assistant, call, image, refused, result, taken, thinking, tool, user

__all__ = ("CASES",)

_RULE = "request.messages"
_TAGS = (
    "'bash_code_execution_tool_result', 'code_execution_tool_result', 'container_upload', 'document', 'image', "
    "'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'text_editor_code_execution_tool_result', "
    "'thinking', 'tool_result', 'tool_search_tool_result', 'tool_use', 'web_fetch_tool_result', "
    "'web_search_tool_result'"
)
_DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Условия доставки"},
    "title": "Доставка",
    "citations": {"enabled": True},
}
_FOUND = {
    "type": "search_result",
    "source": "https://example.org",
    "title": "發貨",
    "content": [{"type": "text", "text": "三天"}],
}
_CITED = {"type": "char_location", "cited_text": "три дня", "document_index": 0, "document_title": None}


def _refused(title: str, block: object, path: str, text: str) -> Case:
    where = f"messages.0.content.0{path}"
    return refused(_RULE, title, ask(user([block])), where, f"{where}: {text}")


CASES: tuple[Case, ...] = (
    taken(
        _RULE,
        "every block a user can send",
        ask(
            user(
                [
                    {"type": "text", "text": "сравни", "citations": None, "cache_control": None},
                    image(),
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/кот.png"}},
                    _DOCUMENT,
                    _FOUND,
                    {"type": "container_upload", "file_id": "file_1"},
                ]
            )
        ),
    ),
    taken(
        _RULE,
        "every block a reply can bring back",
        ask(
            user(),
            assistant(
                [
                    thinking(),
                    {"type": "redacted_thinking", "data": "AAA="},
                    {"type": "text", "text": "ответ", "citations": [_CITED]},
                    call(caller={"type": "direct"}, toolset_name=None),
                ]
            ),
            user([result(content=[{"type": "text", "text": "да"}, image(), _DOCUMENT, _FOUND], is_error=False)]),
            tools=[tool()],
        ),
    ),
    taken(
        _RULE,
        "a result without content",
        ask(
            user(),
            assistant([call()]),
            user([{"type": "tool_result", "tool_use_id": "toolu_1"}]),
            tools=[tool()],
        ),
    ),
    refused(
        _RULE,
        "a type that doesn't exist",
        ask(user([{"type": "поэма"}])),
        "messages.0.content.0",
        "messages.0.content.0: Input tag 'поэма' found using 'type' does not match any of the expected tags: " + _TAGS,
    ),
    refused(
        _RULE,
        "a compaction block, which only a beta has",
        ask(user([{"type": "compaction", "content": "…"}])),
        "messages.0.content.0",
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags: "
        + _TAGS,
    ),
    _refused("not an object", 7, "", "Input should be an object"),
    _refused("no type", {"text": "x"}, ".type", "Field required"),
    _refused("text without text", {"type": "text"}, ".text.text", "Field required"),
    _refused("text that is a list", {"type": "text", "text": ["x"]}, ".text.text", "Input should be a valid string"),
    _refused(
        "a member of the SDK's own objects",
        {"type": "text", "text": "x", "parsed_output": None},
        ".text.parsed_output",
        "Extra inputs are not permitted",
    ),
    _refused(
        "an image kind that is not taken",
        image(media_type="image/svg+xml"),
        ".image.source.base64.media_type",
        "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    refused(
        _RULE,
        "arguments as a string, as other dialects have them",
        ask(user(), assistant([call(input='{"a": 1}')])),
        "messages.1.content.0.tool_use.input",
        "messages.1.content.0.tool_use.input: Input should be an object",
    ),
    refused(
        _RULE,
        "an id with other characters",
        ask(user(), assistant([call("functions.X:0")])),
        "messages.1.content.0.tool_use.id",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    refused(
        _RULE,
        "an empty name",
        ask(user(), assistant([call(name="")])),
        "messages.1.content.0.tool_use.name",
        "messages.1.content.0.tool_use.name: String should have at least 1 character",
    ),
    refused(
        _RULE,
        "thinking without its signature",
        ask(user(), assistant([{"type": "thinking", "thinking": "хм"}])),
        "messages.1.content.0.thinking.signature",
        "messages.1.content.0.thinking.signature: Field required",
    ),
    refused(
        _RULE,
        "a block inside a result",
        ask(user([result(content=[{"type": "text"}])])),
        "messages.0.content.0.tool_result.content.0.text.text",
        "messages.0.content.0.tool_result.content.0.text.text: Field required",
    ),
)
