"""Models behind LlamaIndex's own base types; one factory each."""
