"""The home page, and its parts by role."""
