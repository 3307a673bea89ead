"""The version of the project. pyproject.toml, the MCP server and the changelog take it from here."""

VERSION = "0.1.0"
