"""`turnkeeper simulate`."""

from __future__ import annotations

import click

__all__ = ("simulate_command",)

_IMITATIONS = ("ollama", "llama.cpp", "vllm", "litellm")


@click.command("simulate", short_help="Serve a strict Messages API on this machine.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="The port to listen on. [default: 0, which finds one]"
)
@click.option(
    "--model",
    default="practice",
    show_default=True,
    metavar="practice|SCRIPT.json",
    help="What answers: the practice model, or replies and faults written down in a file.",
)
@click.option("--imitation", type=click.Choice(_IMITATIONS), help="Deviate from the API as this server is known to do.")
@click.option(
    "--keep", type=click.IntRange(min=1), default=1_000, show_default=True, help="How many requests to remember."
)
@click.option("--lenient", is_flag=True, help="Don't refuse what the API would refuse.")
def simulate_command(
    host: str,
    port: int,
    model: str,
    imitation: str | None,
    keep: int,
    lenient: bool,
) -> int:
    """Serve a strict Messages API on this machine, with no key and no network.

    The first line on stdout is `listening on http://HOST:PORT`: give that address to --base-url or to any client of
    the API. Requests are judged by the API's rules. Ctrl-C stops it.
    """
    from turnkeeper.cli.simulating import simulate  # noqa: PLC0415 - loads the server

    return simulate(host, port, model=model, imitation=imitation, keep=keep, strict=not lenient)
