"""Sign-in of MCP clients that cannot send a header: an OAuth 2.1 authorization server for /mcp (docs/adr/0028)."""
