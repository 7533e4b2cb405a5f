"""Alembic's environment: plain SQL scripts, a folder for each database, one transaction each."""
