"""`elt-llm serve`: the same engine over HTTP, for browsers, programs and agents."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.options import CommandContext, WholeNumber, pass_command_context

if TYPE_CHECKING:
    from elt_llm_core.settings_loader import LoadedSettings

    from elt_llm_api.serve.listening.addresses import Exposure

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen at; any but loopback needs more than this.")
@click.option("--port", type=WholeNumber(0, 65535), metavar="N", help="Port to listen at; 0: any that is free.")
@click.option("--token-file", type=FILE, metavar="FILE", help="File with the token; else ELT_LLM_SERVE_TOKEN, if set.")
@click.option("--allow-remote", is_flag=True, help="Let other machines in; needs a token, and TLS or a proxy.")
@click.option("--certificate", type=FILE, metavar="FILE", help="Certificate chain for TLS, PEM.")
@click.option("--key", type=FILE, metavar="FILE", help="Its private key, PEM.")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front ends TLS and says who asks.")
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
    """Serve questions, documents and jobs over HTTP, to this machine alone unless more is asked for.

    The token is read from the environment or a file: what stands on a command line, everybody on the machine sees.
    """
    from elt_llm_api.serve.listening.addresses import Exposure
    from elt_llm_api.serve.listening.tokens import read_token, readable_by_all

    given = {"host": host, "port": port, "tls_certificate": certificate, "tls_key": key}
    loaded = with_options(context.load(), {**given, "behind_proxy": behind_proxy or None})
    serve = loaded.settings.serve
    token = read_token(token_file, context.environment)
    if readable_by_all(token_file):
        click.echo(f"warning: Everybody on this machine may read {token_file}.", err=True)
    os.environ.pop("ELT_LLM_SERVE_TOKEN", None)  # no program that is started from here needs to know it
    exposure = Exposure(token, allow_remote, serve.tls_certificate is not None, serve.behind_proxy)
    return _serve(context, loaded, exposure)


def with_options(loaded: "LoadedSettings", options: Mapping[str, object]) -> "LoadedSettings":
    """The settings with those options of the command that were given in place of the section's."""
    chosen = {name: value for name, value in options.items() if value is not None}
    section = loaded.settings.serve.model_copy(update=chosen)
    return replace(loaded, settings=loaded.settings.model_copy(update={"serve": section}))


def _serve(context: CommandContext, loaded: "LoadedSettings", exposure: "Exposure") -> int:
    from elt_llm_api.serve.listening.addresses import address_of, bind, listen, reached_as, refuse_exposure
    from elt_llm_api.serve.listening.certificates import certificate_of
    from elt_llm_api.serve.listening.logs import log_to_stderr
    from elt_llm_api.serve.listening.warnings import exposed_models

    serve = loaded.settings.serve
    with bind(serve.host, serve.port) as bound:
        refuse_exposure(bound, exposure)
        certificate = certificate_of(serve.tls_certificate, serve.tls_key)
        for warning in exposed_models(loaded.settings, context.environment):
            click.echo(f"warning: {warning}", err=True)
        listen(bound)
        log_to_stderr(context.verbose, [exposure.token or ""])

        from elt_llm_api.serve.app import create_app
        from elt_llm_api.serve.heap import settle
        from elt_llm_api.serve.listening.server import GracefulServer, configured

        named = with_options(loaded, {"allowed_hosts": (*serve.allowed_hosts, *reached_as(bound))})
        address = address_of(bound, encrypted=exposure.encrypted)
        app = create_app(named, token=exposure.token)
        settle()
        server = GracefulServer(configured(app, certificate), lambda: _told(address, exposure))
        server.run([bound])
    return 128 + server.ended_by if server.ended_by else 0


def _told(address: str, exposure: "Exposure") -> None:
    """Where it listens, on standard output, so that a program can read it there."""
    click.echo(f"Listening at {address}/ - Ctrl-C ends it.")
    if exposure.token is None:
        click.echo("Whoever uses this machine may ask, unless keys are made: elt-llm keys add NAME", err=True)
