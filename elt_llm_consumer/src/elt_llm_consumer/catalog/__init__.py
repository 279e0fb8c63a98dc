"""The catalog: every entity with what the model, the inventory and the texts say of it."""
