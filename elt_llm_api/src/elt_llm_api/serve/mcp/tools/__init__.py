"""The MCP tools: each calls one action as the caller and formats the result."""
