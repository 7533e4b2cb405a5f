"""The service as a process: locked, started as a child, found again, spoken to."""
