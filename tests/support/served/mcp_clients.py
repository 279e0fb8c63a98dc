"""Agents with the official MCP client, over HTTP or with a separate server process."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from processes.command_line import FAKE, command

T = TypeVar("T")
Era = Literal["auto", "legacy"]
"""The MCP version of a client: `auto` prefers single requests, `legacy` always opens a session."""
LONGEST = 120.0  # seconds that a session of an agent may take


@dataclass(frozen=True)
class HttpAgent:
    """An agent that calls a server over HTTP, with or without a key."""

    address: str
    key: str | None = None
    era: Era = "auto"
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_client(self, act: Callable[[Client], Awaitable[T]]) -> T:
        """Connect, run the function with the client, and disconnect."""
        return _run(self.connected, act)

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """Call a tool over a new connection."""
        return self.with_client(lambda client: client.call_tool(tool, arguments))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """Yield a connected client."""
        shown = {"authorization": f"Bearer {self.key}"} if self.key else {}
        async with (
            httpx2.AsyncClient(headers={**shown, **self.headers}, timeout=60) as http,
            Client(streamable_http_client(f"{self.address}/mcp", http_client=http), mode=self.era) as client,
        ):
            yield client


@dataclass(frozen=True)
class ProcessAgent:
    """An agent that starts `elt-llm mcp` in a folder and speaks to it over its standard streams."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def with_client(self, act: Callable[[Client], Awaitable[T]]) -> T:
        """Start the process, run the function with a client, and end the process."""
        return _run(self.connected, act)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """Yield a connected client."""
        program, *arguments = command("mcp")
        environment = {**os.environ, **FAKE, **self.environment}
        started = StdioServerParameters(command=program, args=arguments, cwd=self.folder, env=environment)
        async with Client(started) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    """Return the text of a result, which a model reads."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def answered(result: CallToolResult) -> dict[str, Any]:
    """Return the result of a tool, which must not be an error."""
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def refused(result: CallToolResult) -> str:
    """Return the error of a tool, which must not show a traceback."""
    assert result.is_error, text_of(result)
    assert result.structured_content is None
    assert "Traceback" not in text_of(result)
    assert 'File "' not in text_of(result)
    return text_of(result)


def _run(connected: Callable[[], Any], act: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        with anyio.fail_after(LONGEST):
            async with connected() as client:
                return await act(client)

    return anyio.run(main)
