"""How well the texts cover a model: what they say of each entity, and what has no counterpart on either side."""
