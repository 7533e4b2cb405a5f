"""A whole database as rows that both kinds share: read in one snapshot, written into another."""
