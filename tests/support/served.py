"""A server as its users meet it: on a port of its own, over a data directory of its own."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from command_line import FAKE
from elt_llm_api.serve.app import create_app
from elt_llm_core.settings_loader import load_settings


@dataclass(frozen=True)
class Served:
    """A running server. `client` asks it without a key, or with the one it was started with."""

    address: str
    client: httpx.Client
    folder: Path
    data_dir: Path


@contextmanager
def served(
    folder: Path, *, token: str | None = None, environment: Mapping[str, str] = FAKE, **serve: str
) -> Iterator[Served]:
    """The app over the project in `folder`; `serve` are settings of that section, such as `workers="2"`."""
    overrides = {f"ELT_LLM_SERVE__{name.upper()}": value for name, value in serve.items()}
    loaded = load_settings(None, {**environment, **overrides}, folder)
    config = uvicorn.Config(
        create_app(loaded, token=token), host="127.0.0.1", port=0, log_level="warning", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    try:
        address = _address(server, thread)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            yield Served(address, client, folder, loaded.data_dir)
    finally:
        server.should_exit = True
        thread.join(60)


def _address(server: uvicorn.Server, thread: threading.Thread) -> str:
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server did not start in time"
        time.sleep(0.02)
    [port] = {sockets.getsockname()[1] for one in server.servers for sockets in one.sockets}
    return f"http://127.0.0.1:{port}"
