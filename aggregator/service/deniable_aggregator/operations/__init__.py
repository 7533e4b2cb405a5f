"""What the running service does by itself: at its start, and from time to time."""
