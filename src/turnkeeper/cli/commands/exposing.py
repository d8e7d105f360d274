"""`turnkeeper mcp`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import database_option, journal_option

__all__ = ("mcp_command",)


@click.command("mcp", short_help="Serve tools to MCP clients, over stdio or HTTP.")
@click.option(
    "-T",
    "--tools",
    metavar="MODULE[:NAME]",
    multiple=True,
    help="Tools from a module or a .py file: all its @tool functions, or the one (or list) of that name. May be given"
    " more than once.",
)
@click.option(
    "--desk",
    is_flag=True,
    help="The tools of TechNova Desk: those of staff, and for customers who come with a token those of customers.",
)
@click.option(
    "--as",
    "role",
    type=click.Choice(("staff",)),
    help="Who is served over stdio: staff. Without it nobody is known, and only tools that require nothing are there.",
)
@database_option
@journal_option
@click.option("--four-eyes", is_flag=True, help="As for `turnkeeper desk`.")
@click.option("--approve-above", metavar="AMOUNT", help="As for `turnkeeper desk`.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="The port to listen on. [default: 0, which finds one]"
)
@click.option("--issuer", metavar="URL", help="The authorization server whose tokens are good. Needs the next two.")
@click.option("--resource", metavar="URL", help="This server's own URL as clients know it: the audience of its tokens.")
@click.option("--keys", metavar="URL|FILE", help="The issuer's public keys (JWKS).")
@click.option("--scope", metavar="NAME", multiple=True, help="A scope that every token must have.")
@click.option("--staff-scope", metavar="NAME", help="The scope that makes a token's subject a member of staff.")
@click.option(
    "--allow-host", metavar="HOST[:PORT]", multiple=True, help="A further name under which requests may come."
)
@click.option("--allow-origin", metavar="URL", multiple=True, help="A web page's origin that may send requests.")
@click.option(
    "--changes", metavar="FILE", help="Serve nothing: show what FILE's MCP servers have changed about their tools."
)
@click.option("--accept", metavar="FILE", help="Serve nothing: show it, and take it as accepted.")
@click.option("--only", metavar="SERVER/TOOL", multiple=True, help="With these two: this tool and no other.")
def mcp_command(**options: Any) -> int:
    """Serve tools to MCP clients, over stdin and stdout or, with --http, over streamable HTTP.

    \b
      turnkeeper mcp -T shop.py                     in the settings of a client that starts its servers
      turnkeeper mcp --desk --as staff              TechNova Desk, for whoever may start this command
      turnkeeper mcp -T shop.py --http --port 8000 --issuer https://login.example
                     --resource https://mcp.example/mcp --keys https://login.example/jwks.json

    Over HTTP each request brings a token, and its subject is who is served. Without --issuer everybody is anonymous,
    and only this machine is answered. Calls that have an effect are kept in the journal; where one needs a person's
    approval, `turnkeeper approvals` decides.

    To use the tools of MCP servers, give --mcp FILE to `turnkeeper ask`, `chat` or `desk`.
    """
    from turnkeeper.cli.exposing import changes, expose  # noqa: PLC0415 - loads the server

    look, take, only = options.pop("changes"), options.pop("accept"), options.pop("only")
    if look is not None and take is not None:
        raise click.UsageError("--changes shows what --accept accepts: use one of them")
    if look is not None or take is not None:
        return changes(look or take, only, accept=take is not None)
    if only:
        raise click.UsageError("--only goes with --changes and --accept")
    return expose(**options)
