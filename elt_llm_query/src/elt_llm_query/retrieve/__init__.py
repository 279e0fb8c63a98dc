"""The legs and their fusion."""
