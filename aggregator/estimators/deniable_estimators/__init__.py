"""Payloads → tally → estimate, with numpy and without a service."""
