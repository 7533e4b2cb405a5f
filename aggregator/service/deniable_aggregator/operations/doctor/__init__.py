"""Looking at an installation without changing it: its health, its log."""
