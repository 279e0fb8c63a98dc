"""Tools for agents over the Model Context Protocol (MCP). The MCP library is an extra, imported where it is used."""
