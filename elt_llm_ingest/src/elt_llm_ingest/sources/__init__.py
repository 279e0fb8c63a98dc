"""The sources of documents: discovery of files, path patterns, and the paths that may be read."""
