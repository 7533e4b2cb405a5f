"""Finite fields, and what mechanisms take from them: recurrences and difference sets."""
