"""`elt-llm serve`: run the HTTP server."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.options import CommandContext, WholeNumber, pass_command_context

if TYPE_CHECKING:
    from elt_llm_core.settings.loader import LoadedSettings

FILE_TYPE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on; others than loopback need --allow-remote.")
@click.option("--port", type=WholeNumber(0, 65535), metavar="N", help="Port to listen on; 0: any free port.")
@click.option("--token-file", type=FILE_TYPE, metavar="FILE", help="File with the token; else ELT_LLM_SERVE_TOKEN.")
@click.option("--allow-remote", is_flag=True, help="Accept other machines; needs a token, and TLS or a proxy.")
@click.option("--certificate", type=FILE_TYPE, metavar="FILE", help="Certificate chain for TLS, PEM.")
@click.option("--key", type=FILE_TYPE, metavar="FILE", help="Private key for TLS, PEM.")
@click.option("--behind-proxy", is_flag=True, help="A reverse proxy terminates TLS and forwards client addresses.")
@pass_command_context
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    context: CommandContext,
    host: str | None,
    port: int | None,
    token_file: Path | None,
    allow_remote: bool,
    certificate: Path | None,
    key: Path | None,
    behind_proxy: bool,
) -> int:
    """Serve the web UI and the API over HTTP, by default to this machine only.

    The token comes from the environment or a file, because all users of the machine can see command lines.
    """
    from elt_llm_api.exposure import is_world_readable, read_token

    options = {"host": host, "port": port, "tls_certificate": certificate, "tls_key": key}
    loaded = with_options(context.load(), {**options, "behind_proxy": behind_proxy or None})
    token = read_token(token_file, context.environment)
    if is_world_readable(token_file):
        click.echo(f"warning: All users of this machine can read {token_file}. Run: chmod 600 {token_file}", err=True)
    os.environ.pop("ELT_LLM_SERVE_TOKEN", None)  # hides the token from child processes
    return _serve(context, loaded, token, allow_remote=allow_remote)


def with_options(loaded: "LoadedSettings", options: Mapping[str, object]) -> "LoadedSettings":
    """Return the settings, with the section `serve` changed by the options that are not None."""
    chosen = {name: value for name, value in options.items() if value is not None}
    section = loaded.settings.serve.model_copy(update=chosen)
    return replace(loaded, settings=loaded.settings.model_copy(update={"serve": section}))


def _serve(context: CommandContext, loaded: "LoadedSettings", token: str | None, *, allow_remote: bool) -> int:
    from elt_llm_core.state.keys import KeyCache

    from elt_llm_api.exposure import allowed_host_names, bind, listen, reject_unsafe_exposure, url_of
    from elt_llm_api.serve.listening import check_certificate, log_to_stderr, model_exposure_warnings

    serve = loaded.settings.serve
    with bind(serve.host, serve.port) as bound:
        reject_unsafe_exposure(bound, serve, token, allow_remote=allow_remote)
        certificate = check_certificate(serve.tls_certificate, serve.tls_key)
        for warning in model_exposure_warnings(loaded.settings, context.environment):
            click.echo(f"warning: {warning}", err=True)
        listen(bound)
        log_to_stderr(context.verbose, [token or ""])

        from elt_llm_api.serve.app import create_app
        from elt_llm_api.serve.listening import GracefulServer, uvicorn_config
        from elt_llm_api.serve.services import freeze_garbage_collector

        named = with_options(loaded, {"allowed_hosts": (*serve.allowed_hosts, *allowed_host_names(bound))})
        address = url_of(bound, encrypted=serve.tls_certificate is not None)
        app = create_app(named, token=token)
        freeze_garbage_collector()
        with KeyCache(loaded.workspace) as keys:
            needs_key = token is not None or keys.has_keys

        def print_address() -> None:
            click.echo(f"Listening at {address}/ - press Ctrl-C to stop.")  # to stdout, where programs can read it
            if not needs_key:
                click.echo("All users of this machine may ask. To restrict access: elt-llm keys add NAME", err=True)

        server = GracefulServer(uvicorn_config(app, certificate), print_address)
        server.run([bound])
    return 128 + server.stop_signal if server.stop_signal else 0
