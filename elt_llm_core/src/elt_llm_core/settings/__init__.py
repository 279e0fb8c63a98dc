"""Settings and profiles: the tree of keys, the YAML files with their values, and the messages for mistakes."""
