"""Tools for agents by the Model Context Protocol, over stdio and HTTP; its library is an extra, imported where used."""
