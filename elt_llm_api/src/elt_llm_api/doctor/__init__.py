"""The checks of `elt-llm doctor`: each examines one thing and returns a verdict with a hint."""
