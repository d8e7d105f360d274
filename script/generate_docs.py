"""Writes the pages of docs/ that say what the code says, from the code: `script/docs`, or `script/docs --check`.

Each page has a function below that returns its text. A page is made if the part that it describes is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

__all__ = ("PAGES", "main")

FOLDER = Path(__file__).resolve().parent.parent / "docs"
MARK = "<!-- Written by script/docs from the code; changes made here are lost. -->"
WIDTH = 100


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars inside cells are escaped."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)])


def code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


def sentences(value: Any) -> str:
    """The docstring as text."""
    return inspect.cleandoc(value.__doc__ or "")


def errors() -> str:
    """docs/errors.md"""
    from turnkeeper import errors as general
    from turnkeeper.desk import errors as desk
    from turnkeeper.journal import errors as journal
    from turnkeeper.mcp import errors as mcp

    parts = ["# Errors", "Everything that Turnkeeper raises on purpose is a `TurnkeeperError`. `code` is stable."]
    for module in (general, journal, mcp, desk):
        parts.append(f"## `{module.__name__}`")
        public = [getattr(module, name) for name in module.__all__]
        kinds = [one for one in public if isinstance(one, type) and issubclass(one, general.TurnkeeperError)]
        for kind in sorted(kinds, key=lambda kind: len(kind.__mro__)):
            above = kind.__mro__[1].__name__
            parts += [f"### {kind.__name__}", f"Code `{kind.code}`, a kind of `{above}`.", sentences(kind)]
    return "\n\n".join(parts)


def machine() -> str:
    """docs/machine.md"""
    from turnkeeper.core.calls import CALL_TABLE
    from turnkeeper.core.machine import TURN_TABLE, Phase
    from turnkeeper.core.replies import ASK_AGAIN_LIMIT, ENLARGE_LIMIT, REPLY_TABLE, RESEND_LIMIT
    from turnkeeper.core.tool_choice import ASKS, CHOICE_TABLE, ROUTE_TABLE
    from turnkeeper.core.trust import SERVER_RESULT_TABLE, TRUST_TABLE

    drawing = ["```mermaid", "stateDiagram-v2", f"    [*] --> {Phase.IDLE}"]
    everywhere = {event for _, event in TURN_TABLE}
    everywhere = {event for event in everywhere if all((phase, event) in TURN_TABLE for phase in Phase)}
    for (phase, event), after in TURN_TABLE.items():
        if event not in everywhere:
            drawing += [f"    {phase} --> {target}: {event}" for target in after]
    turns = [
        [code(phase), code(event), ", ".join(map(code, after))]
        for (phase, event), after in TURN_TABLE.items()
        if event not in everywhere
    ]
    calls = [[code(state), code(event), code(after)] for (state, event), after in CALL_TABLE.items()]
    replies = [
        [code(stop), code(shape), code(row.action), code(row.status), code(row.reason), row.why]
        for (stop, shape), row in REPLY_TABLE.items()
    ]
    routes = [
        [code(choice), code(support), "yes" if manual else "no", code(route)]
        for (choice, support, manual), route in ROUTE_TABLE.items()
    ]
    choices = [[code(choice), code(came), "yes" if kept else "no"] for (choice, came), kept in CHOICE_TABLE.items()]
    return "\n\n".join(
        [
            "# The machine",
            "What a conversation does next is looked up in tables of `turnkeeper.core`. What is not in a table "
            "is illegal: it raises `IllegalEventError`, and nothing has changed.",
            "## A turn",
            "`core/machine.py`. The phase of a conversation, the event, and the phases it may lead to. Possible in "
            f"every phase, without changing it: {', '.join(map(code, sorted(everywhere)))}.",
            "\n".join([*drawing, "```"]),
            table(["phase", "event", "phases after it"], turns),
            "## A call",
            "`core/calls.py`. Every path ends in exactly one result for the call's id.",
            table(["state", "event", "state after it"], calls),
            "## A reply",
            "`core/replies.py`. What a reply means, by its stop reason and what it holds. The action comes first; "
            "where its bound is used up, or where it is an end, the turn ends with the status and the reason. Bounds: "
            f"`ask_again` {ASK_AGAIN_LIMIT} and `enlarge` {ENLARGE_LIMIT} times in a turn, `resend` {RESEND_LIMIT} "
            "times in a row.",
            table(["stop reason", "holds", "action", "status", "reason", "why"], replies),
            "## After text from outside",
            "`core/trust.py`. What becomes of a call, by its tool's effect, once a result with untrusted text is in "
            "the conversation: `ask` is an approval, or the confirmation of whoever it runs for.",
            table(["effect", "then"], [[code(effect), code(then)] for effect, then in TRUST_TABLE.items()]),
            "Whose text a result of the API's own tools holds, by the type of its block. `outside` counts as untrusted "
            "from there on: for what stands behind it in the same reply, and for every later one.",
            table(["result", "text"], [[code(kind), code(whose)] for kind, whose in SERVER_RESULT_TABLE.items()]),
            "## The tool choice",
            "`core/tool_choice.py`. How a choice goes out, by what the catalogue says of forced choices (`any` and a "
            "named tool) and whether the request has manual thinking.",
            table(["choice", "forced choices", "manual thinking", "goes out"], routes),
            "Whether a reply keeps to the choice. One that does not is left out and asked for again (`remind`), by "
            f"default {ASKS} times in a turn; then the turn ends `failed`, for the reason `tool_choice_unmet`.",
            table(["choice", "came", "kept"], choices),
        ]
    )


def rules() -> str:
    """docs/rules.md"""
    all_rules = importlib.import_module("turnkeeper.simulator.rules").RULES
    parts = [
        "# Rules of the Messages API",
        f"The {len(all_rules)} rules that the simulator and `turnkeeper verify` hold a request to, each with where it "
        "comes from. A rule whose wording or extent is not settled says so.",
    ]
    area = ""
    for rule in all_rules:
        if (found := rule.id.partition(".")[0]) != area:
            area = found
            parts.append(f"## {area}")
        lines = [
            f"### {rule.id}",
            rule.sentence,
            f"Otherwise: {rule.status} `{rule.error_type}`. {rule.repair}",
            f"Source: {rule.source}",
        ]
        if not rule.text_settled:
            lines.append("The wording of the API's error is not known; the simulator's is its own.")
        if rule.open_question:
            lines.append(f"Not settled: {rule.open_question}")
        parts += lines
    return "\n\n".join(parts)


def models() -> str:
    """docs/models.md"""
    from turnkeeper.models import catalogue

    def number(value: int | Decimal | None) -> str:
        return "unknown" if value is None else f"{value:,}"

    rows, notes = [], []
    for model in catalogue():
        bands = "".join(f"; above {b.above:,}: {b.input_price} / {b.output_price}" for b in model.price_bands)
        rows.append(
            [
                code(model.id),
                number(model.context_window),
                number(model.max_output),
                f"{number(model.input_price)} / {number(model.output_price)}{bands}",
                number(model.cache_read_rate),
                model.thinking_default,
                model.forced_tool_choice.replace("_", " "),
                {True: "yes", False: "no", None: "unknown"}[model.structured_output],
                str(model.read or ""),
            ]
        )
        sources = ", ".join(f"<{source}>" if source.startswith("http") else source for source in model.sources)
        unsettled = f" Not settled: {', '.join(map(code, model.unsettled))}." if model.unsettled else ""
        notes.append(f"- {code(model.id)}: {sources}.{unsettled} {model.note}".rstrip())
    head = [
        "model",
        "window",
        "most output",
        "USD per million in / out",
        "cache read ×",
        "thinking",
        "forced tools",
        "structured output",
        "read",
    ]
    return "\n\n".join(
        [
            "# Models",
            "What Turnkeeper knows of each model, from `models/models.toml`; tokens, and USD per million tokens. Any "
            "other model id works too: nothing is refused because of it, and it has no price.",
            table(head, rows),
            "## Sources",
            "\n".join(notes),
        ]
    )


def commands() -> str:
    """docs/cli.md"""
    click = importlib.import_module("click")
    main = importlib.import_module("turnkeeper.cli.main").main
    parts = ["# The command line", "What `--help` says, command by command."]

    def describe(command: Any, path: str, above: Any) -> None:
        context = click.Context(command, info_name=path.rpartition(" ")[2], parent=above, terminal_width=WIDTH)
        parts.extend([f"## {path}", f"```text\n{command.get_help(context).rstrip()}\n```"])
        for name in command.list_commands(context) if isinstance(command, click.Group) else ():
            describe(command.get_command(context, name), f"{path} {name}", context)

    describe(main, "turnkeeper", None)
    return "\n\n".join(parts)


PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "errors.md": ("turnkeeper.errors", errors),
    "machine.md": ("turnkeeper.core.replies", machine),
    "rules.md": ("turnkeeper.simulator.rules", rules),
    "models.md": ("turnkeeper.models", models),
    "cli.md": ("turnkeeper.cli.main", commands),
}
"""File name → the module that the page is about, and what writes it."""


def exists(module: str) -> bool:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return False
    return found is not None and found.origin is not None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; with --check, 1 if a page is stale."""
    parser = argparse.ArgumentParser(prog="script/docs", description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is not up to date")
    check = parser.parse_args(arguments).check
    stale = []
    for name, (module, write) in PAGES.items():
        path = FOLDER / name
        before = path.read_text("utf-8") if path.exists() else None
        after = f"{MARK}\n\n{write()}\n" if exists(module) else None
        if before == after:
            continue
        stale.append(name)
        if not check:
            path.unlink(missing_ok=True) if after is None else path.write_text(after, "utf-8")
    if stale:
        print(f"docs/: {', '.join(stale)} {'not up to date; run script/docs' if check else 'written'}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
