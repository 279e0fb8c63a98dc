"""Evaluate retrieval, answers and refusals on labelled or generated questions."""
