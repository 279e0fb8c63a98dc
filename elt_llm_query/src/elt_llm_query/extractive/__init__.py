"""Answers quoted from the chunks: score sentences, weigh the evidence, decide by confidence."""
