"""LeanIX: enterprise models from diagrams, and inventories from exported workbooks."""
