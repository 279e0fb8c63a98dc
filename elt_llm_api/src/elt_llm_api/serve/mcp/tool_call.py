"""How a function becomes a tool: described, bounded, closed to arguments it does not know, and failing in words."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

from elt_llm_core.errors import EltError
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

from elt_llm_api.serve.mcp.given import AnyContext

A = TypeVar("A")
P = ParamSpec("P")

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""Changes nothing, and reaches nothing but what was ingested."""
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
"""Puts work into the queue; what was published before stays where it can be gone back to."""


def declared(act: Callable[P, Awaitable[CallToolResult]], title: str, annotations: ToolAnnotations) -> Tool:
    """The tool that a function is: its name, its docstring as description, its arguments and its result as schemas.

    An argument that it does not know is an error: left out in silence, it would seem to have had its effect.
    """
    tool = Tool.from_function(
        _failing_in_words(act),
        title=title,
        description=inspect.getdoc(act),
        annotations=annotations,
        structured_output=True,
    )
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": arguments.model_json_schema(by_alias=True)})


def taking(
    arguments: Callable[..., A], act: Callable[[AnyContext, A], Awaitable[CallToolResult]]
) -> Callable[..., Awaitable[CallToolResult]]:
    """A function of one dataclass, as one whose arguments are its fields: so several tools can have the same."""

    @functools.wraps(act)
    async def acting(context: AnyContext, **given: Any) -> CallToolResult:
        return await act(context, arguments(**given))

    own, fields = inspect.signature(act), inspect.signature(arguments).parameters
    vars(acting)["__signature__"] = own.replace(parameters=[own.parameters["context"], *fields.values()])
    return acting


def told(text: str, structured: BaseModel) -> CallToolResult:
    """A result in both forms: a short text for models, and all of it for programs."""
    values: dict[str, Any] = structured.model_dump(mode="json", by_alias=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=values)


def in_words(error: EltError) -> str:
    """A failure as its reader is told of it: what is wrong, and the cure."""
    return f"{error} {error.hint}".strip()


def _failing_in_words(act: Callable[P, Awaitable[CallToolResult]]) -> Callable[P, Awaitable[CallToolResult]]:
    @functools.wraps(act)
    async def acting(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return await act(*args, **kwargs)
        except EltError as error:
            raise ToolError(in_words(error)) from error

    return acting
