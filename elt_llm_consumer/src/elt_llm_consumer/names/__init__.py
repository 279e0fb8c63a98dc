"""Compare names, join lists of names, and find names in texts."""
