"""The console: every page for the people who run the product. Its address is /admin/."""
