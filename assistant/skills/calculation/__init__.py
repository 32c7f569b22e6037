"""Calculations beyond two numbers: typed expressions, percentages, tips. Imports only from `assistant.skills`."""
