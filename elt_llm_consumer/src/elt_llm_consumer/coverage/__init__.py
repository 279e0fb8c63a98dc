"""Measure how well the texts cover a model: statements about each entity, and gaps on either side."""
