"""Reviews and curated values: decisions of reviewers about rows; and comparison with gold files."""
