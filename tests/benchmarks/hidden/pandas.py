"""In front of pandas: sqlite-utils loads it wherever it is, and a companion of a peer brings it."""

raise ImportError("pandas is hidden from the product: its own environment has none")
