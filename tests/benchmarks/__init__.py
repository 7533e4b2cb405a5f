"""What each step costs, beside the peers and the machine's own limits (DESIGN §7)."""
