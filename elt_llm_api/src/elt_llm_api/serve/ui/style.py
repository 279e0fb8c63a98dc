"""How the user interface looks: fonts of the machine, nothing loaded from anywhere."""

from pathlib import Path

import gradio as gr

FAVICON = Path(__file__).with_name("favicon.png")
_STYLES = Path(__file__).with_name("style.css")
_TEXT = ("system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
_FIXED = ("ui-monospace", "Cascadia Mono", "Menlo", "monospace")


def theme() -> gr.themes.Base:
    """Colours with a contrast of 4.5 or more in both schemes, and the fonts of the machine."""
    look = gr.themes.Default(
        primary_hue="teal", neutral_hue="slate", font=_TEXT, font_mono=_FIXED, text_size="md", spacing_size="sm"
    )
    return look.set(
        color_accent="*primary_700",
        color_accent_soft="*primary_50",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        block_label_text_color="*neutral_700",
        block_label_text_color_dark="*neutral_200",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_600",
        button_cancel_background_fill="*neutral_200",
        button_cancel_background_fill_hover="*neutral_300",
        button_cancel_background_fill_dark="*neutral_600",
        button_cancel_background_fill_hover_dark="*neutral_500",
        button_cancel_text_color="*neutral_900",
        button_cancel_text_color_dark="white",
    )


def styles() -> str:
    """What the theme does not say: sources, marks, small screens."""
    return _STYLES.read_text(encoding="utf-8")
