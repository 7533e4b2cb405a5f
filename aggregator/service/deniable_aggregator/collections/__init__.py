"""Collections: the registry, tools for authors, planning, notes and retention."""
