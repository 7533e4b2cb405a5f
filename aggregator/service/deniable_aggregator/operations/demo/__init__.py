"""What `deniable demo` does: simulated days, a service, live clients, the truth on its charts."""
