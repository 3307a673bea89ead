"""The draft and its releases in the admin, a module a page; importing one registers it."""

from registry.admin import connections, copy, history, ops, phrases, releases, switches

__all__ = ["connections", "copy", "history", "ops", "phrases", "releases", "switches"]
