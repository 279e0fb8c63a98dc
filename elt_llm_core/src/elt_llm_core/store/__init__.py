"""The store: the database of documents, nodes, vectors and generations of one workspace, and its writer's lock."""
