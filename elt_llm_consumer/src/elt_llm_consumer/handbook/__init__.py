"""The handbook job: one row for each entity in a handbook's rules, and one for each relationship between entities."""
