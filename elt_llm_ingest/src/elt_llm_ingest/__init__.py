"""Read documents, cut them into chunks, embed these and publish a collection."""
