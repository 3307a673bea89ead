"""Admin pages of the draft and its releases, one module a page. Importing a module registers its pages."""

from registry.admin import connections, copy_pages, history, ops, copy_rows, releases, switches

__all__ = ["connections", "copy", "history", "ops", "phrases", "releases", "switches"]
