"""Reports for product managers. Each page answers one question; each figure links to the rows it counts."""
