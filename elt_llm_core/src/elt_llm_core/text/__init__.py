"""Pure functions on text: split sentences, normalise, stem, detect the language, and find sections and quotes."""
