"""HTTP routes: parse a request, call one action, return its result."""
