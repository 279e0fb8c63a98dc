"""Run jobs: plan the rows, make the rows, write the outputs with receipts, and replay receipts."""
