"""`turnkeeper worker`."""

from __future__ import annotations

from typing import Any

import click

from turnkeeper.cli.options import Talk, serving

__all__ = ("worker_command",)


class _Rate(click.ParamType[tuple[int, float]]):
    """So many turns in so many seconds, such as 600/60."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, float]:
        if isinstance(value, tuple):
            return value
        turns, _, seconds = str(value).partition("/")
        try:
            return int(turns), float(seconds or 1)
        except ValueError:
            self.fail(f"{value!r} is not a number of turns in a number of seconds such as 600/60", param, ctx)


_SECONDS = click.FloatRange(min=0, min_open=True, max=3600)


@click.command("worker", short_help="Take turns from a queue, on this machine beside others.")
@serving
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Turns at once in each worker. This and the next two are the queue's: the worker that started last decides.",
)
@click.option(
    "--total-concurrency", type=click.IntRange(min=1), metavar="N", help="Turns at once in all workers together."
)
@click.option("--rate", type=_Rate(), metavar="N/SECONDS", help="Turns that may begin in so many seconds, in all.")
@click.option(
    "--lease",
    type=_SECONDS,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a conversation stays taken after the worker that drove it has died.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0, max=24 * 3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="What calls under way have to end when the worker is stopped.",
)
@click.option(
    "--poll", type=_SECONDS, default=0.25, show_default=True, metavar="SECONDS", help="How often the queue is asked."
)
@click.option(
    "--look",
    type=_SECONDS,
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often the journal is asked for conversations whose driver is gone.",
)
def worker_command(**options: Any) -> int:
    """Run turns of the conversations in a PostgreSQL journal, beside any number of workers on other machines.

    Messages come into the journal by `Dispatcher.post` or `Keeper.post` of the library; bring the same model, prompt
    and tools (-T) to every worker. The first line on stdout says that it is ready. SIGTERM or Ctrl-C stops it: turns
    are left for other workers where no call is under way; a second one cuts short.

    It needs `pip install 'turnkeeper[workers]'`.
    """
    from turnkeeper.cli.working import work  # noqa: PLC0415 - loads the SDK and the journal

    own = {name: options.pop(name) for name in ("concurrency", "total_concurrency", "rate", "grace", "poll", "look")}
    lease = options.pop("lease")
    return work(Talk(**options), lease=lease, **own)
