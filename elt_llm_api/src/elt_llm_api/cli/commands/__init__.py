"""The commands of `elt-llm`: parse the arguments, call one function, render the result."""
