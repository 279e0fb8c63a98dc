"""`elt-llm mcp`: the tools for agents over stdin and stdout, which carry the protocol and nothing else."""

import sys
from contextlib import redirect_stdout

import click

from elt_llm_api.options import CommandContext, pass_command_context


@click.command()
@pass_command_context
def command(context: CommandContext) -> int:
    """Serve tools to the program that starts this one, over stdin and stdout (Model Context Protocol).

    It reads and writes what you may, and ends when its input does. What it has to say goes to stderr. Jobs are done
    while it runs; one that is cut off goes on when this command or `elt-llm serve` runs again.
    """
    from elt_llm_api.serve.mcp.mount import is_installed, not_installed

    if not is_installed():
        raise not_installed()
    import anyio

    from elt_llm_api.serve.jobs.running import running_jobs
    from elt_llm_api.serve.mcp.endable_input import endable_input
    from elt_llm_api.serve.mcp.given import local_caller
    from elt_llm_api.serve.mcp.server import create_server
    from elt_llm_api.serve.services import open_services

    loaded = context.load()
    with redirect_stdout(sys.stderr):  # whatever is said while models are loaded
        services = open_services(loaded)
        server = create_server(services, local_caller)
    with services, running_jobs(services.queue, lambda: services.loaded), endable_input() as ending:
        anyio.run(server.run_stdio_async)
    return ending.exit_code
