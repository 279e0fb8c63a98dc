"""HTML: one page that loads nothing, with search, filters, the evidence of every cell, a map and a graph."""

import hashlib
import json
from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from typing import Any

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.report_graph import relationship_graph
from elt_llm_consumer.export.report_heat import heat_map
from elt_llm_consumer.export.texts import printable
from elt_llm_consumer.rows import JobResult


def write_html(result: JobResult, path: Path) -> list[Path]:
    """Write the report; returns its path. Whatever a document says is shown as text and can load or run nothing."""
    write_whole(path, html_report(result).encode("utf-8", "replace"))
    return [path]


def html_report(result: JobResult) -> str:
    """The whole page. Its policy allows its own script and style, by their hashes, and nothing else."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    script, style = _part("report.js"), _part("report.css")
    frame = Environment(autoescape=True, undefined=StrictUndefined).from_string(_part("page.html"))
    return frame.render(
        title=f"{result.kind.capitalize()}: {printable(result.job)}",
        subtitle=printable(result.description),
        figures=[(name.replace("_", " "), _figure(value)) for name, value in result.figures.items()],
        notes=[printable(note) for note in result.notes],
        script=Markup(script),  # noqa: S704 - our own file
        style=Markup(style),  # noqa: S704 - our own file
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=Markup(_in_a_page(_data(result))),  # noqa: S704 - no sign in it can end the element it stands in
    )


def _data(result: JobResult) -> dict[str, Any]:
    return {
        "tables": [table.model_dump(mode="json") for table in result.tables],
        "heat": heat_map(result),
        "graph": relationship_graph(result),
    }


def _in_a_page(value: dict[str, Any]) -> str:
    """JSON in which no markup can begin or end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _figure(value: float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _part(name: str) -> str:
    return files("elt_llm_consumer.export.report").joinpath(name).read_text(encoding="utf-8").strip("\n")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{b64encode(digest).decode('ascii')}"
