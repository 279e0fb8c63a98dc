"""Where the server listens, to whom it is patient, what it logs, and how it ends."""
