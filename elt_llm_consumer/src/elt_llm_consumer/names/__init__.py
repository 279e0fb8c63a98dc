"""Compare names, match the names in two lists, and find names in texts."""
