"""Whether the wall clock can be believed: it is compared with a clock that nobody can set."""
