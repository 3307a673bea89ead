"""Sessions with MCP servers, and what a session knows: the tools that its server lists."""
