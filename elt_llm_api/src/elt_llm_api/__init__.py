"""The edge: the elt-llm command."""
