"""Coins, and exact thresholds: the one place where ε becomes a probability."""
