"""What `elt-llm doctor` looks at: one function a check, each told how to mend what it finds."""
