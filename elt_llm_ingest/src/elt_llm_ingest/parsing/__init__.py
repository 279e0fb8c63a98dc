"""Parts that all readers share: parsed documents, the reader interface, and safe access to zip archives and XML."""
