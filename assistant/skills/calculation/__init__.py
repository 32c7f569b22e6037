"""Calculations beyond two numbers: typed expressions, percentages, tips and shares. Imports only from `assistant.skills`."""
