"""Whole conversations in virtual time: the session around scripted engines, and their records."""
