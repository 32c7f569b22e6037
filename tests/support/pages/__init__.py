"""Browsers, and the page in them."""
