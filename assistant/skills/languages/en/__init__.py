"""The skills in English."""
