"""Shape a ranking into the final chunks: deduplicate, diversify, expand, and fit the budget."""
