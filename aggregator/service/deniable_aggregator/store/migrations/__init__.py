"""Numbered SQL scripts, one folder for each database. `store.schema` runs the missing ones."""
