"""One self-contained page about a collection: no script, no address it would load from."""
