"""Files to parsed text with structure; one file a format."""
