"""`elt-llm serve`: the same engine over HTTP, for browsers, programs and agents."""

import click

from elt_llm_api.options import CommandContext, WholeNumber, pass_command_context


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen at; any but loopback needs more than this.")
@click.option("--port", type=WholeNumber(0), metavar="N", help="Port to listen at; 0: any that is free.")
@pass_command_context
def command(context: CommandContext, host: str | None, port: int | None) -> int:
    """Serve questions, documents and jobs over HTTP, to this machine alone unless more is asked for."""
    import uvicorn

    from elt_llm_api.serve.app import create_app

    loaded = context.load()
    serve = loaded.settings.serve
    chosen = serve.port if port is None else port
    uvicorn.run(create_app(loaded), host=host or serve.host, port=chosen, log_level="warning", server_header=False)
    return 0
