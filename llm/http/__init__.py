"""Shared parts of the clients of HTTP services."""
