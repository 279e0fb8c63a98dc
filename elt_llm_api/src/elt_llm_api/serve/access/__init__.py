"""Authentication and authorisation: callers, their keys, scopes and limits."""
