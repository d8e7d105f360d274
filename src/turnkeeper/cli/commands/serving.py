"""`turnkeeper serve`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, color_option, database_option, serving

__all__ = ("serve_command",)

_OWN = ("host", "port", "database", "demo", "approve_above", "public", "proxy", "staff_file", "staff_header", "drive")
"""Options of this command; the others are those of every conversation."""


@click.command("serve", short_help="TechNova Desk on the web: a page for customers, a console for staff.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8765, show_default=True, help="The port; 0 finds a free one."
)
@database_option
@click.option("--demo", is_flag=True, help="A fresh database and the practice model.")
@click.option("--approve-above", metavar="AMOUNT", help="The total above which staff decide. [default: 100.00]")
@click.option(
    "--public",
    metavar="NAME",
    multiple=True,
    help="A host name under which the service is reached, such as help.example.org. May be given more than once.",
)
@click.option(
    "--proxy",
    metavar="ADDRESS",
    multiple=True,
    help="The address or network of a reverse proxy, whose X-Forwarded-For and X-Forwarded-Proto are believed then.",
)
@click.option(
    "--staff-file",
    metavar="FILE",
    help="Who may use the console, a line NAME:HASH each; `python -m turnkeeper.web.staff NAME` makes one.",
)
@click.option(
    "--staff-header",
    metavar="NAME",
    help="The header in which the proxy names the member of staff whom it has signed in; needs --proxy.",
)
@click.option("--no-drive", "drive", flag_value=False, default=True, help="Leave the turns to processes elsewhere.")
@serving
@color_option
def serve_command(**options: Any) -> int:
    """TechNova Desk on the web, on this machine and with a database of its own.

    A customer's page is at /; messages with codes are shown here, where no mail is sent (TURNKEEPER_SMTP names a mail
    server). Whoever uses this machine is staff; a service that others can reach needs --staff-file or --staff-header,
    and a secret in TURNKEEPER_WEB_SECRET if it runs in several processes.

    The first line on stdout is `listening on http://HOST:PORT`. Ctrl-C stops it; turns go on with the next start.
    """
    from turnkeeper.cli.serving import serve  # noqa: PLC0415 - loads the server and the desk

    own = {name: options.pop(name) for name in _OWN}
    return serve(Talk(**options), **own)
