"""Where counts live: the protocols of a store, and its two implementations."""
