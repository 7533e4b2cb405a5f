"""What `deniable demo` does: people, clients, a service, truth beside estimate."""
