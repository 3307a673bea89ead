"""How a message over HTTP reaches the handlers of the MCP SDK, and its answer comes back."""
