"""The skills in French."""
