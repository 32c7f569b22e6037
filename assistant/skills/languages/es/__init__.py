"""The skills in Spanish."""
