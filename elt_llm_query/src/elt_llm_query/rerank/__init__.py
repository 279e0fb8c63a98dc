"""Putting the best candidates first."""
