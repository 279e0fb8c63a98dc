"""Shared parts of the readers: parsed documents, the reader contract, safe access to archives, XML and cells."""
