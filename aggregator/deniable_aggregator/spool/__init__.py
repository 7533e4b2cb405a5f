"""Counts spools where the keys are; `deniable_gateway.spool` has their format and places."""
