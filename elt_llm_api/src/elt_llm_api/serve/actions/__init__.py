"""The actions of callers within their scopes, shared by routes, user interface and MCP tools."""
