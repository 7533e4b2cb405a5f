"""Finite fields, and what mechanisms build from them: recurrences and difference sets."""
