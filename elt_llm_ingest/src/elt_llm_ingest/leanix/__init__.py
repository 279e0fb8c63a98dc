"""LeanIX (enterprise architecture): models from diagrams, and inventories of fact sheets from exported workbooks."""
