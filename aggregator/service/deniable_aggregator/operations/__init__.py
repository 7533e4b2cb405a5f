"""Running the service: start, maintenance, checks, backup, metrics, demo and load tests."""
