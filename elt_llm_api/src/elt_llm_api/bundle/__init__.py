"""Bundles: one file that installs elt-llm, its models and collections on a machine without a network."""
