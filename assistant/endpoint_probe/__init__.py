"""Finds servers of language models on this machine, and measures endpoints."""
