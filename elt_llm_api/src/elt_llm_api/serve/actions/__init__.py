"""What a caller can do with the server, shared by routes, user interface and MCP tools, within its scope."""
