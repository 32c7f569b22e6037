"""Matching of sentence templates, which hassil parses. Imports nothing of the program."""
