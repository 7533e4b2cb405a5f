"""Exact errors and information of mechanisms, from their sizes and probabilities."""
