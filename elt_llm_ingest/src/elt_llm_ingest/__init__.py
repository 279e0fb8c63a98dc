"""Read documents, cut them into chunks, embed the chunks and publish a collection."""
