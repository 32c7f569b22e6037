"""Hands conversations over to other gateways, through Redis."""
