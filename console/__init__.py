"""The console: every page on which people work with the product. Its address is /admin/."""
