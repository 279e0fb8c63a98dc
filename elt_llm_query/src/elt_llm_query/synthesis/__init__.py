"""Answers written by a language model: prompts, sources, reasoning, checks and further searches."""
