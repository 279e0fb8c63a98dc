"""Run jobs: plan, make the rows, write the outputs with receipts, and replay receipts."""
