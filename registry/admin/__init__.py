"""Admin pages of the draft and its releases, one module a page. Importing a module registers its pages."""

from registry.admin import connections, copy_pages, copy_rows, history, op_embeddings, ops, releases, switches

__all__ = ["connections", "copy_pages", "copy_rows", "history", "op_embeddings", "ops", "releases", "switches"]
