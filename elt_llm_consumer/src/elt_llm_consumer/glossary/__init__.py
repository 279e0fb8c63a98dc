"""The glossary job: every defined term with its definition, its other names, and where it is used."""
