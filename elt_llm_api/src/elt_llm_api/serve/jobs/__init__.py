"""Work that takes long: kept in the state database, and done by child processes, one job each."""
