"""MCP servers that tests start as programs."""
