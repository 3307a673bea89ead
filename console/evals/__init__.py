"""Pages of eval cases and of their results."""
