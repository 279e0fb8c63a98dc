"""Gradio made safe and quiet: no analytics, no sharing, no files but those it was given, a private folder for them."""

import asyncio
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import gradio as gr
import gradio.queueing
from fastapi import FastAPI
from gradio.routes import App
from starlette.routing import Mount

from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.frame import build_blocks
from elt_llm_api.serve.ui.style import FAVICON, styles, theme

logger = logging.getLogger(__name__)
MOST_WAITING = 64
"""Events that may wait before browsers are told that the server is busy."""
_ENVIRONMENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_SHARE": "False",
    "GRADIO_SSR_MODE": "False",
    "GRADIO_MCP_SERVER": "False",
    "GRADIO_RUN_HISTORY": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def build_interface(services: Services) -> App:
    """The app of Gradio with every tab. Its temporary files stand below the data directory, emptied first.

    To be called in a thread of its own: it takes a second or two.
    """
    return asyncio.run(_built(services))


async def _built(services: Services) -> App:
    """Within a loop: without one Gradio makes several, and closes none."""
    data_dir = services.loaded.data_dir
    folder = _private_folder(data_dir)
    # Gradio reads these where it needs them, and has no other way to be told.
    os.environ.update(_ENVIRONMENT, GRADIO_TEMP_DIR=str(folder), GRADIO_EXAMPLES_CACHE=str(folder / "examples"))
    vars(gradio.queueing)["traceback"] = _Logged
    blocks = build_blocks(services)
    blocks.queue(
        api_open=False, max_size=MOST_WAITING, default_concurrency_limit=services.loaded.settings.serve.workers
    )
    mounted: dict[str, Any] = {
        "allowed_paths": [],
        "blocked_paths": [str(path) for path in data_dir.iterdir() if path != folder],
        "favicon_path": str(FAVICON),
        "show_error": False,
        "max_file_size": services.loaded.settings.serve.max_upload_mb << 20,
        "ssr_mode": False,
        "pwa": False,
        "mcp_server": False,
        "enable_monitoring": False,
        "run_history": False,
        "footer_links": [],
        "theme": theme(),
        "css": styles(),
    }
    # Only of an app that was launched does Gradio hold files against its folder: one that is mounted never is.
    blocks.has_launched = True
    outer = FastAPI()
    gr.mount_gradio_app(outer, blocks, "/", **mounted)
    return next(route.app for route in outer.routes if isinstance(route, Mount) and isinstance(route.app, App))


class _Logged:
    """What Gradio prints errors with, their words included; the log says where they happened, and what is safe."""

    @staticmethod
    def print_exc() -> None:
        """Log the error that is being handled."""
        logger.error("A page's event failed.", exc_info=True)


def folder_of_files(data_dir: Path) -> Path:
    """Where files stand that pages brought, until they are taken."""
    return data_dir / "ui"


def _private_folder(data_dir: Path) -> Path:
    folder = folder_of_files(data_dir)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder
