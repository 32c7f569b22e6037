"""Formats of sound in files, requests and calls: reads, writes and converts them."""
