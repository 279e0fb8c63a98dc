"""Tools for agents over the Model Context Protocol; its library is an extra, imported where it is used."""
