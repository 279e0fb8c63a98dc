"""Run the server on a free port in a thread of this process."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from elt_llm_api.exposure import bind, listen, url_of
from elt_llm_api.serve.app import create_app
from elt_llm_api.serve.listening import GracefulServer, uvicorn_config
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.workspace import Workspace
from processes.command_line import FAKE
from starlette.types import ASGIApp


@dataclass(frozen=True)
class RunningServer:
    """A running server. `client` sends requests with the server's token, if there is one."""

    address: str
    client: httpx.Client
    folder: Path
    data_dir: Path
    app: ASGIApp
    workspace: Workspace


@contextmanager
def served(
    folder: Path, *, token: str | None = None, environment: Mapping[str, str] = FAKE, **serve: str
) -> Iterator[RunningServer]:
    """Serve the project in `folder`; `serve` are settings of the section `serve`, such as `workers="2"`.

    Gradio reads its upload folder from an environment variable. When this server ends, the variable gets its former
    value, which an earlier server of this process may still use.
    """
    variables = dict(os.environ)
    overrides = {f"ELT_LLM_SERVE__{name.upper()}": value for name, value in serve.items()}
    loaded = load_settings(None, {**environment, **overrides}, folder)
    app = create_app(loaded, token=token)
    bound = bind("127.0.0.1", 0)
    listen(bound)
    server = GracefulServer(uvicorn_config(app))
    thread = threading.Thread(target=server.run, args=([bound],), name="server")
    thread.start()
    try:
        address = url_of(bound, encrypted=False)
        _wait_for(server, thread)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            yield RunningServer(address, client, folder, loaded.data_dir, app, loaded.workspace)
    finally:
        server.should_exit = True
        thread.join(60)
        os.environ.clear()
        os.environ.update(variables)


def _wait_for(server: GracefulServer, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server did not start in time"
        time.sleep(0.02)
