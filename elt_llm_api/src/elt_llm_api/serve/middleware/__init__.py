"""What stands around every route, ours and those of libraries alike: plain ASGI, outermost first."""
