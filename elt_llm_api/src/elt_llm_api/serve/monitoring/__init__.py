"""What happened: counts, times and series of the questions asked, a line a question, and their export."""
