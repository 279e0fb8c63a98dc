"""A first model of a handbook from its words alone: who and what acts in its rules, and how they are related."""
