"""The MCP tools. Each calls one action on behalf of the caller, and formats the result."""
