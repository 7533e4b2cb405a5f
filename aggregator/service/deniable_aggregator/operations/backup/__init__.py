"""Copies of a whole installation: one archive for both databases, and from one to the other."""
