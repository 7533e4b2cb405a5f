"""What `deniable demo` and `simulate` do: people, clients, a service, truth beside estimate."""
