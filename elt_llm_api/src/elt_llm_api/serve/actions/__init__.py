"""What callers may do within their permissions, shared by routes, user interface and MCP tools."""
