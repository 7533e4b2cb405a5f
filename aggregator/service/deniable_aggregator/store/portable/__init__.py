"""A whole database as rows that both kinds of store share: read in a snapshot, and written."""
