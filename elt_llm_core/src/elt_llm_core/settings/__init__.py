"""Settings and profiles: the tree of keys, the YAML files that set them, and the messages for mistakes in them."""
