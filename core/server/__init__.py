"""Runs a WSGI application on granian's RSGI interface, so that no client can hold a thread (docs/adr/0019)."""
