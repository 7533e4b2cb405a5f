"""Exact draws from coins: noise, uniform numbers, orders, and candidates by their weights."""
