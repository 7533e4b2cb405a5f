"""Backups of a whole installation, in one format for both databases."""
