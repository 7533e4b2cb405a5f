"""Releases over what a collection counted: mechanisms of this room read raw integer tallies."""
