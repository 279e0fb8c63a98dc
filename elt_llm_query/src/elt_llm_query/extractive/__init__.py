"""Quote answers from the chunks: score sentences, gather evidence, and decide by confidence whether to answer."""
