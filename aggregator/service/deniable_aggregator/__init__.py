"""Add up deniable reports, debias the sums, answer queries."""
