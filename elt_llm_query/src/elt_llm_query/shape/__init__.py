"""What is done to passages between ranking and answering."""
