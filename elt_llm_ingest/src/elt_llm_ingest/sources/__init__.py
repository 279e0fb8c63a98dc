"""Where documents come from: local and remote files, readers of other packages, path patterns and allowed paths."""
