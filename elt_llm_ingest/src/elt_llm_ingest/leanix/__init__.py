"""LeanIX: models drawn in its diagrams and inventories exported from it."""
