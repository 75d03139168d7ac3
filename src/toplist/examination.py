"""What is odd about predictions, how reliable they are, and what their score is made of: in memory, or from files."""
