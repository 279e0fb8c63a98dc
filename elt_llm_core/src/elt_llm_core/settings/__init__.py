"""Settings and profiles: the tree of keys, the YAML files with the values, and the messages about mistakes."""
