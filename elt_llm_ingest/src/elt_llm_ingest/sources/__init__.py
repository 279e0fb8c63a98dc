"""Where documents come from: discovery of files, path patterns, and the paths that may be read."""
