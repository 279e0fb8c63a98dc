"""The catalog job: every entity with its fields from model, inventory and texts."""
