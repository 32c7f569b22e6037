"""Browsers and Realtime clients: the wire and the server."""
