"""The store in one SQLite file: one writer, many readers."""
