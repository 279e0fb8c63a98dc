"""Run jobs: plan and make rows, write outputs and receipts (records of a run's inputs), and check receipts."""
