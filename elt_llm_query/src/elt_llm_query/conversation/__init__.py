"""Conversations: rewrite follow-up questions as complete ones, ask them, and store the turns."""
