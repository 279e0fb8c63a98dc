"""The catalog job: a row for every entity, with fields from model, inventory and texts."""
