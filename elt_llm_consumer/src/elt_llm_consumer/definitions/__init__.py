"""Find definitions in running text, tables and lists."""
