"""The gateway as a server of the Model Context Protocol: the same calls, checks and events as the HTTP API."""
