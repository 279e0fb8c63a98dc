"""Settings, models, the store and its indexes."""
