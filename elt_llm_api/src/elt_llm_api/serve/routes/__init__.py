"""Routes: each takes a request apart, calls one service, and puts the answer together."""
