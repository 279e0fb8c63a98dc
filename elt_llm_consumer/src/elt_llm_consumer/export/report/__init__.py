"""What the report page is made of: its frame, its looks and its script."""
