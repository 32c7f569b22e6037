"""Clients that check the Realtime protocol, and its table."""
