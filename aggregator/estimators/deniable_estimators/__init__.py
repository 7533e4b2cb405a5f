"""Estimators: payloads → tally → estimate, with numpy and without a service."""
