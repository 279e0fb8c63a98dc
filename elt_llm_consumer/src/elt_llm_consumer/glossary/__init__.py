"""The glossary job: every defined term with its definition, its other names, and the sections that use the term."""
