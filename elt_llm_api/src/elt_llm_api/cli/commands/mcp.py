"""`elt-llm mcp`: serve the MCP tools over stdin and stdout, until the input ends or a signal arrives."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from threading import Thread
from types import FrameType
from typing import TextIO

import click

from elt_llm_api.cli.options import CommandContext, pass_command_context


@click.command()
@pass_command_context
def command(context: CommandContext) -> int:
    """Serve tools to the parent process over stdin and stdout (Model Context Protocol).

    The tools have your permissions. The command ends when its input ends, and logs to stderr. It also runs queued
    jobs; an interrupted job continues when this command or `elt-llm serve` runs again.
    """
    from elt_llm_api.serve.mcp.mount import is_installed, not_installed_error

    if not is_installed():
        raise not_installed_error()
    import anyio
    from mcp.server.stdio import stdio_server

    from elt_llm_api.serve.jobs.runner import run_queued_jobs
    from elt_llm_api.serve.mcp.server import create_server
    from elt_llm_api.serve.mcp.tool_call import local_principal
    from elt_llm_api.serve.services import open_services

    async def serve(protocol: TextIO) -> None:
        # `run_stdio_async` would restore the real stdout at the end, although abandoned calls can still print.
        lowlevel = server._lowlevel_server  # noqa: SLF001 - no public accessor
        async with stdio_server(stdout=anyio.wrap_file(protocol)) as (received, sent):
            await lowlevel.run(received, sent, lowlevel.create_initialization_options())

    loaded = context.load()
    with reserved_stdout() as protocol:
        services = open_services(loaded)
        server = create_server(services, local_principal)
        with services, run_queued_jobs(services.queue, lambda: services.loaded), interruptible_input() as signals:
            anyio.run(serve, protocol)
    return 128 + signals[0] if signals else 0


_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_BLOCK = 1 << 16  # bytes


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Yield a private stream to stdout for the protocol; all other output to stdout goes to stderr.

    Besides `sys.stdout`, the file descriptor 1 is redirected, because C libraries write to it, and because a tool call
    that was abandoned when the input ended may still print.
    """
    sys.stdout.flush()
    private = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)
    try:
        with open(private, "w", encoding="utf-8", closefd=False) as protocol, redirect_stdout(sys.stderr):
            yield protocol
    finally:
        os.dup2(private, _OUTPUT)
        os.close(private)


@contextmanager
def interruptible_input() -> Iterator[list[int]]:
    """Let the first SIGTERM or SIGINT end the standard input, and the second one end the process.

    Must run in the main thread. Yields a list of the numbers of the received signals.
    """
    received: list[int] = []
    real = os.dup(_INPUT)
    reading, writing = os.pipe()
    wakeup, waking = os.pipe()
    os.dup2(reading, _INPUT)
    os.close(reading)

    def end(number: int, _: FrameType | None) -> None:
        if received:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        received.append(number)
        os.write(waking, b"!")

    former = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    Thread(target=_copy_input, args=(writing, real, wakeup), name="input", daemon=True).start()
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        os.write(waking, b"!")


def _copy_input(writing: int, real: int, wakeup: int) -> None:
    """Copy the standard input into a pipe until the input ends, the pipe is closed, or `wakeup` becomes readable."""
    try:
        while wakeup not in select.select([real, wakeup], [], [])[0]:
            data = os.read(real, _BLOCK)
            if not data:
                break
            while data:
                data = data[os.write(writing, data) :]
    except OSError:
        pass  # nothing reads the pipe any more
    finally:
        os.close(writing)
