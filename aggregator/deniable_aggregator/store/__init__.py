"""Where counts live: the contract and its SQLite implementation."""
