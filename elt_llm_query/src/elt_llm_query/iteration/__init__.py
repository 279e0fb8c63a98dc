"""Looking again where a first answer is not good enough: a gate, and steps that a model chooses."""
