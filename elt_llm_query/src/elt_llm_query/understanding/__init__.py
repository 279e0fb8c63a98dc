"""Understand a question before it is searched: intent, spelling, aliases, suggested filters, routing, strategies."""
