"""The gateway, over HTTP."""
