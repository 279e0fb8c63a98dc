"""Writing the answer, citing it, or saying that there is none."""
