"""Build the Gradio app: tabs, theme and styles, without analytics or sharing, with a private upload folder.

Rules for the tabs. The content security policy (mounting.py) forbids scripts created from text, so no tab uses
`gr.HTML`, `js=` or `head=`. Our HTML is shown by `gr.Markdown(..., latex_delimiters=[])`, which sanitises it again.
Buttons within our HTML have the class `do`; page.js, our only script, types their name and value into the hidden
command box of the tab. Texts of documents and models are escaped, so they cannot contain such buttons.
Every control has a label. Event handlers have `api_visibility="private"`, because they are not a public API. They never
have `queue=False`, because mounting.py closes all ways to call a handler except the queue.
"""

import asyncio
import logging
import os
import shutil
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import gradio as gr
import gradio.blocks
import gradio.queueing
import gradio.route_utils
import gradio.utils
from fastapi import FastAPI
from gradio.routes import App
from starlette.routing import Mount

from elt_llm_api.serve.access.gate import COOKIE
from elt_llm_api.serve.actions.health import HealthActions
from elt_llm_api.serve.actions.uploads import safe_file_name
from elt_llm_api.serve.errors import UnsupportedUpload
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import QUIET_EVENT, CollectionPickers, PageContext, command_box, html_area
from elt_llm_api.serve.ui.markup import fill_template
from elt_llm_api.serve.ui.texts import DEFAULT_LANGUAGE, Texts, load_texts

FAVICON = Path(__file__).with_name("favicon.png")
_STYLES = Path(__file__).with_name("style.css")
TABS = ("ask", "inspect", "documents", "jobs", "health")
"""Names of the tabs and of the modules that build them; `ask` has a class `AskTab`."""
MOST_WAITING = 64
"""Number of events that may wait. Further events get the message that the server is busy."""
_INTERFACE = tomllib.loads(Path(__file__).with_name("interface.toml").read_text(encoding="utf-8"))
_GRADIO_CLIENT = vars(gradio.route_utils)["client_utils"]
_STRIP = _GRADIO_CLIENT.strip_invalid_filename_characters
_DIFF = vars(gradio.utils)["diff"]
logger = logging.getLogger(__name__)


def theme() -> gr.themes.Base:
    """Return a theme with a contrast of at least 4.5 in the light and the dark scheme, and the machine's fonts."""
    base = gr.themes.Default(
        primary_hue="teal",
        neutral_hue="slate",
        font=("system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"),
        font_mono=("ui-monospace", "Cascadia Mono", "Menlo", "monospace"),
        text_size="md",
        spacing_size="sm",
    )
    colours = _INTERFACE["colours"]
    light = {name: pair[0] for name, pair in colours.items()}
    dark = {f"{name}_dark": pair[1] for name, pair in colours.items()}
    return base.set(color_accent="*primary_700", color_accent_soft="*primary_50", **light, **dark)


def build_interface(services: Services, language: str = DEFAULT_LANGUAGE) -> App:
    """Return the Gradio app with every tab, with texts in one language.

    Building takes one or two seconds, so call it in a thread.
    """
    return asyncio.run(_create_app(services, load_texts(language)))


async def _create_app(services: Services, texts: Texts) -> App:
    """Create the app within an event loop. Without a running loop Gradio creates several loops and closes none."""
    loaded = services.loaded
    folder = upload_folder(loaded.data_dir)
    # Gradio reads these variables when it uses them, and has no parameters for them.
    os.environ.update(
        _INTERFACE["environment"], GRADIO_TEMP_DIR=str(folder), GRADIO_EXAMPLES_CACHE=str(folder / "examples")
    )
    vars(gradio.queueing)["traceback"] = _ErrorLogger
    vars(gradio.blocks)["App"] = _NoApp
    vars(_GRADIO_CLIENT)["strip_invalid_filename_characters"] = _name_of_upload
    vars(gradio.utils)["diff"] = _changes_of_output
    with gr.Blocks(title="elt-llm", analytics_enabled=False, fill_width=True) as blocks:
        pickers = CollectionPickers(changes=gr.State(0), listed=gr.State(None))
        _lay_out_header(services, texts, pickers)
        _lay_out_tabs(blocks, services, texts, pickers)
    blocks.queue(api_open=False, max_size=MOST_WAITING, default_concurrency_limit=loaded.settings.serve.workers)
    # Gradio restricts file paths to its folder only for launched apps, and a mounted app is never launched.
    blocks.has_launched = True
    outer = FastAPI()
    gr.mount_gradio_app(
        outer,
        blocks,
        "/",
        allowed_paths=[],
        blocked_paths=[str(path) for path in loaded.data_dir.iterdir() if path != folder],
        favicon_path=str(FAVICON),
        show_error=False,
        max_file_size=loaded.settings.serve.max_upload_mb << 20,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
        run_history=False,
        footer_links=[],
        theme=theme(),
        css=_STYLES.read_text(encoding="utf-8"),
    )
    return next(route.app for route in outer.routes if isinstance(route, Mount) and isinstance(route.app, App))


def _lay_out_header(services: Services, texts: Texts, pickers: CollectionPickers) -> None:
    """Add the product's name and a sign that shows whether the server is ready. New documents refresh the sign."""
    with gr.Row(elem_id="header"):
        html_area("product", f"# elt-llm\n{texts('page.tagline')}")
        sign = html_area("health-sign")
        button = fill_template("button", "signOut", "", texts("page.sign_out"), "quiet")
        sign_out = html_area("sign-out", button, visible=False)
    gr.on(None, _show_sign_out, None, [sign_out], **QUIET_EVENT)
    health = HealthActions(services)
    pickers.add(sign, lambda principal: fill_template("sign", texts, health.ready(principal)))


def _show_sign_out(request: gr.Request) -> Any:
    """Show the button only to a browser that was signed in with the login form."""
    return gr.update(visible=COOKIE in request.cookies)


def _lay_out_tabs(blocks: gr.Blocks, services: Services, texts: Texts, pickers: CollectionPickers) -> None:
    """Add every tab. Lists of collections are refreshed when the page, a tab or its window is opened again."""
    focused = command_box("page", texts)  # page.js types into it when the window gets the focus again
    opened = [blocks.load]
    with gr.Tabs(elem_id="tabs", overflow_behavior="wrap"):
        for name in TABS:
            with gr.Tab(texts(f"tabs.{name}"), id=name, elem_id=f"tab-{name}") as tab:
                page = PageContext(services, texts, pickers, tab)
                getattr(import_module(f"elt_llm_api.serve.ui.{name}"), f"{name.capitalize()}Tab")(page)
            opened.append(tab.select)
    pickers.refresh_on(opened, focused)


def _name_of_upload(name: str, max_bytes: int = 200) -> str:
    """Return the name under which Gradio stores an uploaded file.

    Gradio would delete signs such as "?", so that different names become the same.
    """
    stripped: str = _STRIP(name, max_bytes)
    try:
        return name if stripped == name else safe_file_name(name)
    except UnsupportedUpload:
        return stripped


def _changes_of_output(old: Any, new: Any) -> list[list[Any]]:
    """Return the changes from one value of an output to the next. Updates of a control are replaced as a whole.

    The page makes the changes in the former value itself, which may still wait to be drawn: the former update would be
    lost, such as the one that turns the button Ask into Stop.
    """
    changes: list[list[Any]] = [["replace", [], new]] if isinstance(new, dict) and old != new else _DIFF(old, new)
    return changes


class _NoApp:
    """Replaces the three apps that `Blocks` creates and never serves; `mount_gradio_app` creates the one in use.

    Each has 80 routes. Without this, building takes more than twice as long.
    """

    @staticmethod
    def create_app(*_: object, **__: object) -> None:
        """Create nothing."""


class _ErrorLogger:
    """Replaces Gradio's printing of tracebacks, which may quote questions. The server's log redacts tracebacks."""

    @staticmethod
    def print_exc() -> None:
        """Log the error that is being handled."""
        logger.error("A page's event failed.", exc_info=True)


def upload_folder(data_dir: Path) -> Path:
    """Return the folder that keeps uploaded files until they are imported."""
    return data_dir / "ui"


def empty_upload_folder(data_dir: Path) -> Path:
    """Delete what an earlier server left in the folder for uploaded files, and return the folder."""
    folder = upload_folder(data_dir)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder
