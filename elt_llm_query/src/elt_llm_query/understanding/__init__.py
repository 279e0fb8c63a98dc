"""What is made of a question before it is searched for: what it asks, other names, mistyped words, filters."""
