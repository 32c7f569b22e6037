"""Certificates of the server: reading and checking them, and making the server's own."""
