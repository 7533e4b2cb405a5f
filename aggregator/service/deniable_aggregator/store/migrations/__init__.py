"""Numbered SQL scripts, a folder for each database. `store.schema` runs those that are missing."""
