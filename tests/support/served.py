"""A server as its users meet it: on a port of its own, over a data directory of its own."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from command_line import FAKE
from elt_llm_api.serve.app import create_app
from elt_llm_api.serve.asgi import App
from elt_llm_api.serve.listening.addresses import address_of, bind, listen
from elt_llm_api.serve.listening.server import GracefulServer, configured
from elt_llm_core.settings_loader import load_settings


@dataclass(frozen=True)
class Served:
    """A running server. `client` asks it without a key, or with the one it was started with."""

    address: str
    client: httpx.Client
    folder: Path
    data_dir: Path
    app: App


@contextmanager
def served(
    folder: Path, *, token: str | None = None, environment: Mapping[str, str] = FAKE, **serve: str
) -> Iterator[Served]:
    """The app over the project in `folder`; `serve` are settings of that section, such as `workers="2"`."""
    overrides = {f"ELT_LLM_SERVE__{name.upper()}": value for name, value in serve.items()}
    loaded = load_settings(None, {**environment, **overrides}, folder)
    app = create_app(loaded, token=token)
    bound = bind("127.0.0.1", 0)
    listen(bound)
    server = GracefulServer(configured(app))
    thread = threading.Thread(target=server.run, args=([bound],), name="server")
    thread.start()
    try:
        address = address_of(bound, encrypted=False)
        _wait_for(server, thread)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            yield Served(address, client, folder, loaded.data_dir, app)
    finally:
        server.should_exit = True
        thread.join(60)


def _wait_for(server: GracefulServer, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server did not start in time"
        time.sleep(0.02)
