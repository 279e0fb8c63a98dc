"""Write docs/reference/: every setting, command, HTTP route and MCP tool, from its own description.

Run it with `make pages`, in an environment with all extras. tests/architecture/test_manual.py fails when a page is
stale.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import httpx
from elt_llm_api.cli import group
from elt_llm_api.serve.app import create_app
from elt_llm_api.serve.mcp.server import create_server
from elt_llm_api.serve.services import open_services
from elt_llm_consumer.jobs.job_file import ConsumerJob
from elt_llm_core.settings.loader import LoadedSettings, describe_allowed, load_settings, section_model
from elt_llm_core.settings.tree import Profile, Settings
from elt_llm_ingest.jobs.job_file import IngestJob
from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

FOLDER = Path(__file__).parents[1] / "reference"
_NOTE = "This page is written by `make pages`; change the description in the code instead.\n"
_WIDTH = 100


def cell(text: object) -> str:
    """Return a text for one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def table(heads: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ("---",) * len(heads), *[tuple(map(cell, row)) for row in rows]]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


# Settings


def model_table(model: type[BaseModel]) -> str:
    """Return the keys of a model with their defaults, meanings and allowed values."""
    rows: list[tuple[object, ...]] = []
    for key, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        has_default = default is not PydanticUndefined and section_model(field.annotation) is None
        shown = f"`{json.dumps(to_jsonable_python(default), ensure_ascii=False)}`" if has_default else ""
        allowed = "" if section_model(field.annotation) else describe_allowed(field)
        rows.append((f"`{key}`", shown, field.description or "", allowed))
    return table(("key", "default", "meaning", "allowed"), rows)


def nested_tables(section: type[BaseModel], name: str) -> Iterator[str]:
    """Yield a heading and a table for each section within a section."""
    for key, field in section.model_fields.items():
        inner = section_model(field.annotation)
        if inner is not None:
            yield f"### {name}.{key}\n\n{inner.__doc__}\n"
            yield model_table(inner)


def settings_page() -> str:
    """Return the page on every key of the settings, profiles and job files."""
    parts = [
        "# Settings\n",
        "Every key of `config/rag_config.yaml`, which `elt-llm init` writes with all keys as comments. A variable"
        " `ELT_LLM_<SECTION>__<KEY>` in the environment overrides a key: `ELT_LLM_CHUNKING__CHUNK_SIZE=256`.\n",
        _NOTE,
    ]
    for name, field in Settings.model_fields.items():
        section = section_model(field.annotation)
        if section is not None:
            parts += [f"## {name}\n", f"{section.__doc__}\n", model_table(section)]
            parts += nested_tables(section, name)
    files = (
        ("Profiles: config/profiles/NAME.yaml", Profile),
        ("Ingest jobs: config/ingest/NAME.yaml", IngestJob),
        ("Batch jobs: config/consumer/NAME.yaml", ConsumerJob),
    )
    for title, model in files:
        parts += [f"## {title}\n", f"{(model.__doc__ or '').splitlines()[0]}\n", model_table(model)]
    for name, field in ConsumerJob.model_fields.items():
        section = section_model(field.annotation)
        if section is not None:
            parts += [f"### {name} of a batch job\n", f"{section.__doc__}\n", model_table(section)]
    return "\n".join(parts)


# Commands


def command_sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """Yield a section with the help of a command, then those of its subcommands."""
    widths = {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **{**command.context_settings, **widths})
    level = "##" if parent is None or parent.parent is None else "###"
    yield f"{level} {context.command_path}\n\n```text\n{click.unstyle(command.get_help(context)).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for subcommand in command.list_commands(context):
            found = command.get_command(context, subcommand)
            if found is not None and not found.hidden:
                yield from command_sections(found, subcommand, context)


def commands_page() -> str:
    """Return the page with the help of every command."""
    parts = ["# Commands\n", "The help of every command, as `elt-llm COMMAND --help` prints it.\n", _NOTE]
    return "\n".join([*parts, *command_sections(group, "elt-llm", None)])


# HTTP


def openapi_document(loaded: LoadedSettings) -> dict[str, Any]:
    """Return the OpenAPI description of the server."""

    async def fetch() -> dict[str, Any]:
        transport = httpx.ASGITransport(app=create_app(loaded))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            response = await client.get("/openapi.json")
            response.raise_for_status()
            document: dict[str, Any] = response.json()
            return document

    return asyncio.run(fetch())


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a JSON schema in words, with links to the objects of the page."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(type_of(choice) for choice in choices))
    if values := schema.get("enum"):
        return "one of " + ", ".join(f"`{value}`" for value in values)
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def properties_table(schema: Mapping[str, Any]) -> str:
    """Return the fields of an object of a JSON schema."""
    required = set(schema.get("required", ()))
    rows: list[tuple[object, ...]] = []
    for name, field in schema.get("properties", {}).items():
        needed = "required" if name in required else f"`{json.dumps(field['default'])}`" if "default" in field else ""
        rows.append((f"`{name}`", type_of(field), needed, field.get("description", "")))
    return table(("field", "type", "default", "meaning"), rows) if rows else ""


def operation_section(path: str, method: str, operation: Mapping[str, Any]) -> str:
    """Return the section on one route: what it does, its parameters, body and response."""
    parts = [f"### {method.upper()} {path}\n", f"{operation.get('description', operation.get('summary', ''))}\n"]
    rows = [
        (f"`{it['name']}`", it["in"], type_of(it.get("schema", {})), it.get("description", ""))
        for it in operation.get("parameters", ())
    ]
    if rows:
        parts.append(table(("parameter", "in", "type", "meaning"), rows))
    bodies = operation.get("requestBody", {}).get("content", {})
    parts += [f"Body ({kind}): {type_of(it['schema'])}\n" for kind, it in bodies.items() if it.get("schema")]
    for status, response in sorted(operation["responses"].items()):
        if status.startswith("2"):
            kinds = [(kind, it["schema"]) for kind, it in response.get("content", {}).items() if it.get("schema")]
            bodies_text = ", ".join(f"{type_of(schema)} ({kind})" for kind, schema in kinds)
            parts.append(f"Response {status}: {bodies_text or response.get('description', '')}\n")
    return "\n".join(parts)


def http_page(loaded: LoadedSettings) -> str:
    """Return the page on every HTTP route and object."""
    document = openapi_document(loaded)
    parts = [
        "# HTTP routes\n",
        "Every route of `elt-llm serve`, from its OpenAPI description (`GET /openapi.json`). Examples:"
        " [the HTTP API](../http-api.md). Each error has the shape of [ErrorResponse](#errorresponse).\n",
        _NOTE,
    ]
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            section = operation_section(path, method, operation)
            by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append(section)
    for tag, sections in by_tag.items():
        parts += [f"## {tag.capitalize()}\n", *sections]
    parts.append("## Objects\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        text = schema.get("description", "")
        parts += [f"### {name}\n", f"{text}\n" if text else "", properties_table(schema) or f"{type_of(schema)}\n"]
    return "\n".join(parts)


# MCP


def mcp_page(loaded: LoadedSettings) -> str:
    """Return the page on every MCP tool."""

    def nobody(_: object) -> Any:
        raise NotImplementedError("No tool is called here.")

    with open_services(loaded) as services:
        tools = asyncio.run(create_server(services, nobody).list_tools())
    parts = [
        "# MCP tools\n",
        "Every tool that agents can call. How to connect an agent: [agents](../mcp.md).\n",
        _NOTE,
    ]
    for tool in tools:
        described: dict[str, Any] = tool.model_dump(mode="json", by_alias=True)
        parts += [f"## {tool.name}\n", f"{tool.description}\n"]
        parts.append(properties_table(described["inputSchema"]) or "It takes no arguments.\n")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the text of every reference page by its file name."""
    with TemporaryDirectory(prefix="elt-llm-reference-") as folder:
        loaded = load_settings(None, {"ELT_LLM_DATA_DIR": folder}, Path(folder))
        texts = {
            "settings.md": settings_page(),
            "commands.md": commands_page(),
            "http.md": http_page(loaded),
            "mcp.md": mcp_page(loaded),
        }
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in texts.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
