"""Local randomizers."""
