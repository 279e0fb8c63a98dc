"""Ground an answer in its sources: sentences, claims, verdicts and citations, by code alone."""
