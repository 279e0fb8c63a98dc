"""The catalog job: one row for every entity, with fields from the enterprise model, the inventory and the texts."""
