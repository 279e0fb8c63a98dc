"""Who is the same in the model, the inventory and the texts, and how that is known."""
