"""Decides whether the wall clock can be trusted: compares it with a clock that cannot be set."""
