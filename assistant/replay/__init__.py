"""Implements `repartee trace replay` and `advise`: decides recorded turns again, and suggests settings."""
