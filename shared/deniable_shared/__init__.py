"""Mechanisms and wire format shared by the deniable client and aggregator."""
