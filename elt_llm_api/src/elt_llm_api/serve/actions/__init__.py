"""What can be done with the server, for routes, the user interface and agents alike: each asks as somebody."""
