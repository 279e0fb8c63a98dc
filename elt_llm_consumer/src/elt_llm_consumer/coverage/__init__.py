"""Measure how well the texts cover an enterprise model: count statements about each entity, and find gaps in both."""
