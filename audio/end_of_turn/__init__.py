"""Acoustic end-of-turn models: prosody and Smart Turn."""
