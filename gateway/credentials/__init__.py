"""Credentials for upstreams: secrets of connections, OAuth tokens, and sign-ins of end users."""
