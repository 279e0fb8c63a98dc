"""Reviews of rows, curated values, and the comparison of results with gold files."""
