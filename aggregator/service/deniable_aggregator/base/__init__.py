"""Settings, errors, roles and logs, for every package of the service."""
