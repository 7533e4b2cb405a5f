"""What each step costs, compared with the peers and the machine's own limits."""
