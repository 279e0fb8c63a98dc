"""Print results on the terminal, as text for people or as JSON for programs."""
