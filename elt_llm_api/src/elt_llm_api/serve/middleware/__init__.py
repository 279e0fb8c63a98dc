"""ASGI middleware around all routes, ours and those of libraries."""
