"""ASGI middleware around all routes, including those that libraries add."""
