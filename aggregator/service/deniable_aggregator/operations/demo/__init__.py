"""The parts of `deniable demo`: simulated days, a service, live clients, the true answers."""
