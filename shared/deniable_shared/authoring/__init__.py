"""From a person's TOML to a manifest: templates, the linter, the recommended mechanism."""
