"""Formatting that the command line and the server share: text, trace tables, plots, progress."""
