"""The handbook job: one row for each entity in the rules of a handbook, and one for each relationship between them."""
