"""The interfaces to people and programs: the command `elt-llm`, the HTTP server and the MCP tools."""
