"""Fields of entities: what the texts, the model and the inventory say of each, with the places that say it."""
