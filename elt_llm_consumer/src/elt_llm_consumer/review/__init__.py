"""What reviewers say of rows, and what they put in place of what was found."""
