"""Rules about `tools`: shapes, names, schemas, strict mode, deferred loading, examples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.shapes import array_of, required, wrong
from turnkeeper.simulator.rules.tool_schemas import (
    grammar_problems,
    is_valid_schema,
    optional_parameters,
    union_parameters,
    validates,
)
from turnkeeper.simulator.rules.tool_types import SEARCH_TOOLS, TOOL, is_custom
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("RULES", "SHAPE")

DEFINE = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
STRICT = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use"
SEARCH = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool"
_NAME = "[a-zA-Z0-9_-]{1,64}"


@rule(
    "tools.shape",
    source="anthropic/types/tool_union_param.py, tool_param.py and the versioned tool types (SDK 2.14.0)",
    sentence="Each tool is a custom tool with name and input_schema, or has a versioned type of the API, with no "
    "other members than that type has.",
    repair="Correct the member that the path names; leave `type` out for your own tools.",
)
def shape(view: RequestView) -> Iterator[Finding]:
    if "tools" in view.body:
        yield from array_of(TOOL)("tools", view.body["tools"])


def _schemas(view: RequestView) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Path, definition and schema of each custom tool."""
    for index, tool in view.tools:
        schema = tool.get("input_schema")
        if is_custom(tool) and isinstance(schema, Mapping):
            yield f"tools.{index}.custom", tool, schema


@rule(
    "tools.name",
    source=f"{DEFINE}; https://github.com/apify/tester-mcp-client/issues/11",
    sentence="A tool's name has 1 to 64 characters: Latin letters, digits, underscores and hyphens.",
    repair="Rename the tool; translate other scripts into Latin letters.",
    open_question="Newer reports show {1,128} in the text; the page says 64.",
)
def name(view: RequestView) -> Iterator[Finding]:
    for index, tool in view.tools:
        given = tool.get("name")
        if not is_custom(tool) or not isinstance(given, str):
            continue
        path = f"tools.{index}.custom.name"
        if not given:
            yield wrong(path, "String should have at least 1 character")
        elif not re.fullmatch(_NAME, given):
            yield wrong(path, f"String should match pattern '^{_NAME}$'")


@rule(
    "tools.names-unique",
    source="https://github.com/anthropics/claude-code/issues/10687",
    sentence="No two tools have the same name.",
    repair="Rename one of them, for example with the server's name in front.",
)
def names_unique(view: RequestView) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, tool in view.tools:
        given = tool.get("name")
        if isinstance(given, str) and given in seen:
            yield Finding(f"tools.{index}", "tools: Tool names must be unique.")
        elif isinstance(given, str):
            seen.add(given)


@rule(
    "tools.schema-object",
    source="anthropic/types/tool_param.py, InputSchemaTyped (SDK 2.14.0)",
    sentence="An input_schema says `type: object` at its root.",
    repair='Set "type": "object" at the root and describe the arguments under "properties".',
)
def schema_object(view: RequestView) -> Iterator[Finding]:
    for path, _, schema in _schemas(view):
        where = f"{path}.input_schema.type"
        if "type" not in schema:
            yield required(where)
        elif schema["type"] != "object":
            yield wrong(where, "Input should be 'object'")


@rule(
    "tools.schema-valid",
    source=DEFINE,
    sentence="An input_schema is a valid JSON Schema of draft 2020-12.",
    repair="Correct the schema; check keywords and their types.",
)
def schema_valid(view: RequestView) -> Iterator[Finding]:
    for path, _, schema in _schemas(view):
        if not is_valid_schema(schema):
            yield wrong(
                f"{path}.input_schema",
                "JSON schema is invalid. It must match JSON Schema draft 2020-12 "
                "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
                "https://docs.claude.com/en/docs/tool-use.",
            )


@rule(
    "tools.schema-root-combinators",
    source="https://github.com/anthropics/claude-code/issues/5319; https://github.com/dearlordylord/huly-mcp/issues/66",
    sentence="An input_schema has no oneOf, anyOf or allOf at its root.",
    repair="Describe one object; say in the descriptions which members go together, and check it in the tool.",
    open_question="No page of the API reference says so; it rests on many reports (a switch in the catalogue of "
    "models).",
)
def schema_root_combinators(view: RequestView) -> Iterator[Finding]:
    if view.model.root_combinators != "refused":
        return
    for path, _, schema in _schemas(view):
        if any(word in schema for word in ("oneOf", "anyOf", "allOf")):
            yield wrong(f"{path}.input_schema", "input_schema does not support oneOf, allOf, or anyOf at the top level")


@rule(
    "tools.strict-schema",
    source=f"{STRICT}; https://platform.claude.com/docs/en/build-with-claude/structured-outputs",
    sentence="The schema of a strict tool, and of output_config.format, closes every object and keeps to the subset "
    "that can be compiled.",
    repair="Set additionalProperties to false on every object; drop number and length limits, recursion, external "
    "references and look-around in patterns.",
)
def strict_schema(view: RequestView) -> Iterator[Finding]:
    for path, schema in _compiled(view):
        for problem in dict.fromkeys(grammar_problems(schema)):
            yield wrong(path, problem)


def _compiled(view: RequestView) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas that are compiled into the request's grammar."""
    for path, tool, schema in _schemas(view):
        if tool.get("strict") is True:
            yield path, schema
    output = view.body.get("output_config")
    form = output.get("format") if isinstance(output, Mapping) else None
    wanted = form.get("schema") if isinstance(form, Mapping) else None
    if isinstance(wanted, Mapping):
        yield "output_config.format.schema", wanted


@rule(
    "tools.strict-limits",
    source=f"{STRICT}; https://github.com/genkit-ai/genkit/issues/5230; https://github.com/camel-ai/camel/pull/4171",
    sentence="A request has at most 20 strict tools, 24 optional parameters and 16 union-typed parameters in its "
    "strict schemas together.",
    repair="Make fewer tools strict, or require more of their parameters.",
)
def strict_limits(view: RequestView) -> Iterator[Finding]:
    schemas = list(_compiled(view))
    counts = (
        ("strict tools", sum(1 for path, _ in schemas if path.startswith("tools.")), 20),
        ("optional parameters", sum(optional_parameters(schema) for _, schema in schemas), 24),
        ("union-typed parameters", sum(union_parameters(schema) for _, schema in schemas), 16),
    )
    for what, count, limit in counts:
        if count > limit:
            yield Finding(
                "tools",
                "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.",
                repair=f"The request has {count} {what}; the limit is {limit}. Make fewer tools strict, or simplify "
                f"them.",
            )


@rule(
    "tools.not-all-deferred",
    source=SEARCH,
    sentence="At least one tool is not deferred.",
    repair="Leave the tools that are always needed, or the search tool, without defer_loading.",
)
def not_all_deferred(view: RequestView) -> Iterator[Finding]:
    if view.tools and all(tool.get("defer_loading") is True for _, tool in view.tools):
        yield Finding("tools", "All tools have defer_loading: true")


@rule(
    "tools.search-not-deferred",
    source=SEARCH,
    sentence="The tool search tool itself is never deferred.",
    repair="Remove defer_loading from the search tool.",
    text_settled=False,
)
def search_not_deferred(view: RequestView) -> Iterator[Finding]:
    for index, tool in view.tools:
        if tool.get("type") in SEARCH_TOOLS and tool.get("defer_loading") is True:
            path = f"tools.{index}.{tool['type']}.defer_loading"
            yield wrong(path, "The tool search tool cannot have defer_loading set")


@rule(
    "tools.input-examples",
    source=DEFINE,
    sentence="Every input example fits the tool's schema.",
    repair="Correct the example, or the schema.",
    text_settled=False,
)
def input_examples(view: RequestView) -> Iterator[Finding]:
    for path, tool, schema in _schemas(view):
        examples = tool.get("input_examples")
        for index, example in enumerate(examples if isinstance(examples, list) else ()):
            if isinstance(example, Mapping) and not validates(schema, example):
                yield wrong(f"{path}.input_examples.{index}", "Input example does not match the tool's input_schema")


SHAPE: Rule = shape
RULES: tuple[Rule, ...] = (
    name,
    names_unique,
    schema_object,
    schema_valid,
    schema_root_combinators,
    strict_schema,
    strict_limits,
    not_all_deferred,
    search_not_deferred,
    input_examples,
)
