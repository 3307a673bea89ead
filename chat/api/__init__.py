"""The chat's HTTP API."""
