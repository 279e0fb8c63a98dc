"""Shape a ranking into the chunks that are read: deduplicate, diversify, expand, and fit the budget."""
