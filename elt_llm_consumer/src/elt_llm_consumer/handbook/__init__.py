"""The handbook job: the entities that act in the rules of a handbook, and the relationships between them."""
