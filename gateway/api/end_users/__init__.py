"""Pages of end users, and the links to them."""
