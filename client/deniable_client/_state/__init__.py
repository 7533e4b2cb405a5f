"""What this device stores: one SQLite file, its schema, its queue and its keys."""
