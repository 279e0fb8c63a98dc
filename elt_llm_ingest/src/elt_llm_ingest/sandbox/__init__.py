"""Files are parsed in processes of their own, which can do little and may die: see pool.ParsePool."""
