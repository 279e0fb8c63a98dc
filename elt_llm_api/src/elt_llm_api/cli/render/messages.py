"""Fill the templates in the folder `messages`, which print results for people."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from elt_llm_core.text.outline import page_label

from elt_llm_api.display.text import count_noun, local_time, one_line, strip_control_characters


def message_lines(template: str, **values: Any) -> Iterator[str]:
    """Fill a template with the values, and yield its lines. Control characters in the values are removed.

    The filter `line` also removes line ends. The filters `bold`, `red`, `green` and `yellow` style a text.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def styled(**style: Any) -> Any:
        return lambda text: Markup(click.style(strip_control_characters(text), **style))  # noqa: S704 - no HTML

    environment = Environment(  # noqa: S701 - for a terminal
        loader=FileSystemLoader(Path(__file__).with_name("messages")),
        undefined=StrictUndefined,
        finalize=lambda value: strip_control_characters(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {name: styled(fg=name) for name in ("red", "green", "yellow")},
        bold=styled(bold=True),
        line=one_line,
        page_label=page_label,
        noun=count_noun,
        time=local_time,
        megabytes=lambda size: f"{size / 1e6:.1f} MB",
    )
    yield from environment.get_template(f"{template}.jinja").render(values).splitlines()
