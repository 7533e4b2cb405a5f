"""Tools for authors of collections: TOML, manifests, lint, mechanisms and snippets."""
