"""How the user interface looks: fonts of the machine, nothing loaded from anywhere."""

from pathlib import Path

import gradio as gr

FAVICON = Path(__file__).with_name("favicon.png")
_STYLES = Path(__file__).with_name("style.css")
_TEXT = ("system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
_FIXED = ("ui-monospace", "Cascadia Mono", "Menlo", "monospace")


def theme() -> gr.themes.Base:
    """Colours with enough contrast in both schemes, and the fonts of the machine."""
    return gr.themes.Default(primary_hue="teal", neutral_hue="slate", font=_TEXT, font_mono=_FIXED)


def styles() -> str:
    """What the theme does not say: sources, marks, small screens."""
    return _STYLES.read_text(encoding="utf-8")
