"""What the request of an operation is made of: its path, its media types and its files; and how to check it."""
