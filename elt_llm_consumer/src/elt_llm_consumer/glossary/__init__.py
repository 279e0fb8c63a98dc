"""The glossary job: one row for every defined term, with its definition, other names, and the sections that use it."""
