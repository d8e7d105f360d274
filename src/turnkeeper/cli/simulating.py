"""The work of `simulate`."""

from __future__ import annotations

from turnkeeper.cli.exits import Exit
from turnkeeper.cli.problems import CommandError
from turnkeeper.errors import ConfigurationError
from turnkeeper.simulator.serving import serve

__all__ = ("simulate",)


def simulate(host: str, port: int, *, model: str, imitation: str | None, keep: int, strict: bool) -> int:
    """Serve until somebody stops it."""
    try:
        serve(host, port, model=model, imitation=imitation, keep=keep, strict=strict)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    return Exit.DONE
