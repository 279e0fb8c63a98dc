"""Questions as people ask them, and the manuals that they are about."""
