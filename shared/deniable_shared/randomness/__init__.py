"""Coins and exact thresholds: the only package that turns ε into a probability."""
