"""Questions that lean on what was asked before, and the conversations they are asked in."""
