"""Rule-based reading of English and German sentences: words, noun phrases, clauses and statements."""
