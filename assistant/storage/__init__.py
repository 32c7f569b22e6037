"""Conversations kept in files."""
