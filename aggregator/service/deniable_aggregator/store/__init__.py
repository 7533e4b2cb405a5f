"""The store of counts: its protocols, and the two implementations."""
