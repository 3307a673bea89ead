"""Admin pages of the draft and its releases, one module a page. Importing a module registers its pages."""

from registry.admin import copy_pages, copy_rows, eval_cases, history, op_embeddings, ops, releases, switches

__all__ = ["copy_pages", "copy_rows", "eval_cases", "history", "op_embeddings", "ops", "releases", "switches"]
