"""From a value to a randomized payload in the queue."""
