"""What the API and the pages share of the web framework."""
