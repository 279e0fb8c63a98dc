"""One tool a file: each takes its arguments, calls one action as whoever calls, and puts the result into words."""
