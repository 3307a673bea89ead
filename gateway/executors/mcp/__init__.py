"""Runs tools of MCP servers: sessions that are kept open, one per process and connection, and what tools answer."""
