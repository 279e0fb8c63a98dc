"""Measure how well the texts cover an enterprise model: count statements on each entity, and find what each lacks."""
