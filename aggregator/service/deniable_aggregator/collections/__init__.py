"""What is collected: the registry, the author's tools, planning and retention."""
